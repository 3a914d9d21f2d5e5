import { join } from 'node:path';

/** Before all tests: what they and the processes they start share. After them: how to repeat the tries, and how to have all of them. */
export default function shareAndTell(): () => void {
  process.env.SEED ??= String(Math.floor(Math.random() * 2 ** 31));
  // A process of the sources starts in half the time where its types were stripped and its code was compiled before.
  process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, '../../node_modules/.cache/compiled');
  const { LONG, SEED } = process.env;
  return () => {
    const form = LONG === '1' ? 'Long form: all tries' : 'Short form: some of the tries; LONG=1 npm test makes all';
    process.stderr.write(`${form}. SEED=${SEED} repeats them.\n`);
  };
}
