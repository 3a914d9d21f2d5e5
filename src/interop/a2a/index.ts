export { type A2AToolOptions, a2aTool, type InputRequest } from './a2a-tool.ts';
export { type A2AHandler, type A2AOptions, a2aHandler, type ServeA2AOptions, serveA2A } from './serve-a2a.ts';
