export { decompressBrotli, decompressLz4, decompressLz4Raw } from "hyparquet-compressors";
