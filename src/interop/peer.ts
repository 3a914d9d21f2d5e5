import { loadSdk } from '../models/sdk.ts';

/**
 * An optional SDK of which a border needs something at once, since its tools are made without waiting. The entry that awaits
 * this is loaded also where the SDK is missing: then the first use throws a ConfigurationError with the command that installs it.
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
