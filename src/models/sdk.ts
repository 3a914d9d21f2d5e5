import { ConfigurationError } from '../core/values/errors.ts';

/** Loads an optional SDK when it is first needed. A missing one is a {@link ConfigurationError} that names the package to install. */
export async function loadSdk<Sdk>(name: string, load: () => Promise<Sdk>): Promise<Sdk> {
  try {
    return await load();
  } catch (thrown) {
    if (isMissing(thrown, name)) {
      throw new ConfigurationError(name, 'the package is not installed', `Run npm install ${name}.`);
    }
    throw thrown;
  }
}

/** Only for the package itself: a failing import inside of it is another error. */
function isMissing(thrown: unknown, name: string): boolean {
  if (!(thrown instanceof Error) || !('code' in thrown)) return false;
  if (thrown.code !== 'ERR_MODULE_NOT_FOUND' && thrown.code !== 'MODULE_NOT_FOUND') return false;
  return thrown.message.includes(`'${name}'`) || thrown.message.includes(`"${name}"`);
}

/** Runs once; a failure is forgotten, so that the next call tries again. */
export function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make().catch((thrown: unknown) => {
      made = undefined;
      throw thrown;
    });
    return made;
  };
}
