export { type A2AHandler, type A2AOptions, a2aHandler, type ServeA2AOptions, serveA2A } from './serve-a2a.ts';
