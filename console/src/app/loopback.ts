/** Whether only programs of the same machine reach a host. */
export const isLoopback = (host: string): boolean => /^(localhost|.+\.localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(host);
