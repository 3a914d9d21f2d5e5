import { loadSdk } from '../../models/sdk.ts';

/** The parts of the SDK that a server needs; loaded when one is made. */
export async function serverSdk() {
  const name = '@a2a-js/sdk';
  const [core, server, errors] = await loadSdk(name, () =>
    Promise.all([import('@a2a-js/sdk'), import('@a2a-js/sdk/server'), import('@a2a-js/sdk/errors')]),
  );
  return { ...server, core, errors };
}

export type ServerSdk = Awaited<ReturnType<typeof serverSdk>>;

/** The parts of the SDK that a client needs. */
export async function clientSdk() {
  const [core, client] = await loadSdk('@a2a-js/sdk', () =>
    Promise.all([import('@a2a-js/sdk'), import('@a2a-js/sdk/client')]),
  );
  return { ...client, core };
}

export type ClientSdk = Awaited<ReturnType<typeof clientSdk>>;
