import { loadSdk, once } from '../../models/sdk.ts';

const CLIENT = '@modelcontextprotocol/client';
const SERVER = '@modelcontextprotocol/server';

/** The client part of the SDK, loaded on first use. */
export const loadClient = once(() => loadSdk(CLIENT, () => import('@modelcontextprotocol/client')));
export const loadStdioClient = once(() => loadSdk(CLIENT, () => import('@modelcontextprotocol/client/stdio')));

/** The server's half, loaded when something is served. */
export const loadServer = once(() => loadSdk(SERVER, () => import('@modelcontextprotocol/server')));
export const loadStdioServer = once(() => loadSdk(SERVER, () => import('@modelcontextprotocol/server/stdio')));
export const loadNodeServer = once(() =>
  loadSdk('@modelcontextprotocol/node', () => import('@modelcontextprotocol/node')),
);
