export { FileStorage } from "./file_storage.js";
