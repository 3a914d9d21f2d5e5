export type { Client } from './client.ts';
export type { GuardOptions } from './guard.ts';
export { type HttpHandler, httpHandler } from './http-handler.ts';
export type { ClientBudget, HttpOptions } from './http-options.ts';
export { type HttpAnswer, type HttpToolOptions, httpTool } from './http-tool.ts';
export type { Listening, ListenOptions } from './listen.ts';
export { type ServeHttpOptions, serveHttp } from './serve-http.ts';
