/** How long messages may block the page, in milliseconds. */
const slice = 10;

/** The messages of a stream, with pauses for the page: buffered messages would arrive without any. */
export async function* paced<T>(messages: AsyncIterable<T>): AsyncGenerator<T> {
  let end = performance.now() + slice;
  for await (const message of messages) {
    yield message;
    if (performance.now() < end) continue;
    await new Promise((resolve) => setTimeout(resolve, 0));
    end = performance.now() + slice;
  }
}
