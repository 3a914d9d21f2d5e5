import { loadSdk } from '../models/sdk.ts';

/**
 * Loads an optional SDK that an integration needs synchronously, since it makes its tools without waiting. The entry that
 * awaits this loads without the SDK too: then the first use throws a ConfigurationError with the command that installs it.
 */
export async function peer<Sdk>(name: string, load: () => Promise<Sdk>): Promise<() => Sdk> {
  try {
    const sdk = await loadSdk(name, load);
    return () => sdk;
  } catch (thrown) {
    return () => {
      throw thrown;
    };
  }
}
