import type { Tool } from '../../core/contract/tool.ts';
import type { OpenSource, ToolSource } from '../../core/contract/tool-source.ts';
import { Guard } from '../../core/runtime/guard.ts';
import type { Invocation } from '../../core/runtime/invocation.ts';
import type { Journal } from '../../core/runtime/journal.ts';
import type { NodeActivity } from '../../core/runtime/node-activity.ts';
import type { Stops } from '../../core/runtime/stops.ts';

const NONE: readonly Tool[] = [];

/** What asking a source uses of its run. */
export interface SourcesParts {
  readonly id: string;
  readonly graceMs: number;
  readonly journal: Journal;
  readonly stops: Stops;
  readonly activity: NodeActivity;
}

/** The open tool sources of a run: each is opened once, by its first invocation, and closed with the run. */
export class RunSources {
  /** Made with the first one: most runs have none. */
  #open: Map<ToolSource, OpenSource> | undefined;
  #offered: WeakMap<Invocation, readonly Tool[]> | undefined;

  /** Asks the sources of an invocation what they offer. Recorded under `<path>/@tools.<source>`: a resume has the same tools. */
  async ask(run: SourcesParts, self: Invocation, sources: readonly ToolSource[]): Promise<void> {
    run.activity.busy(self, 1);
    try {
      const lists = await Promise.all(sources.map((source) => this.#toolsOf(run, self, source)));
      this.#offered ??= new WeakMap();
      this.#offered.set(self, lists.flat());
    } finally {
      run.activity.busy(self, -1);
    }
  }

  async #toolsOf(run: SourcesParts, self: Invocation, source: ToolSource): Promise<readonly Tool[]> {
    const open = this.#opened(run, source);
    const guard = new Guard(self.path, run.stops);
    const asked = () => guard.over(() => open.offer(guard.signal), run.graceMs, false);
    return open.tools(await run.journal.once(`${self.path}/@tools.${source.name}`, self, asked));
  }

  #opened({ id }: SourcesParts, source: ToolSource): OpenSource {
    this.#open ??= new Map();
    const before = this.#open.get(source);
    if (before !== undefined) return before;
    const opened = source.open(id);
    this.#open.set(source, opened);
    return opened;
  }

  /** What its sources offered an invocation. */
  offeredTo(self: Invocation): readonly Tool[] {
    return this.#offered?.get(self) ?? NONE;
  }

  /** Undefined where nothing is open, so that most runs wait for nothing. */
  close(): Promise<unknown> | undefined {
    const open = this.#open;
    this.#open = undefined;
    return open && Promise.all([...open.values()].map((one) => one.close()));
  }
}
