import type { Failure, Layer, Work } from '../core/journal.ts';
import { Semaphore } from './semaphore.ts';

/** One for the whole tree: places are held by leaf effects only, so nesting cannot deadlock. */
export function limiter(concurrency: number): Layer {
  let places: Semaphore | undefined;
  const take = async (work: Work): Promise<Failure | undefined> => {
    places ??= new Semaphore(concurrency);
    work.release = await places.acquire(work);
    work.onStop = undefined;
    return undefined;
  };
  return {
    enter: (_call, work) => take(work),
    leave: (_call, _outcome, work) => {
      work.release?.();
      work.release = undefined;
    },
  };
}
