/** A change of the source that breaks one duty, and the smallest tests that must notice it. */
export interface Mutation {
  /**
   * What an adapter must do, in the order of docs/providers.md; `more` is what this package promises beyond that. `attacks` are the
   * checks that keep hostile models, files and pages out.
   */
  readonly duty:
    | 'assembly'
    | 'stream repair'
    | 'terminal signal'
    | 'whole turns'
    | 'retries'
    | 'idle timer'
    | 'arguments'
    | 'replay'
    | 'names and schemas'
    | 'usage'
    | 'loop guards'
    | 'more'
    | 'attacks';
  readonly file: string;
  /** Stands exactly once in the file. */
  readonly search: string;
  readonly replacement: string;
  /** A test file, the beginning of the names of wire cases, or a test file with the beginning of the tests' names. */
  readonly test: string | { readonly wire: string } | { readonly file: string; readonly name: string };
}

const wire = (start: string) => ({ wire: start });
/** An attack case by its id. */
const attack = (id: string) => ({ file: 'tests/cases/attacks.test.ts', name: id });
const workspace = 'src/tools/workspace';
const commands = 'src/tools/commands';
const fetching = 'src/tools/fetch';
const openai = 'src/models/openai';
const anthropic = 'src/models/anthropic';

export const MUTATIONS: readonly Mutation[] = [
  {
    duty: 'assembly',
    file: `${openai}/chat-calls.ts`,
    search: 'known === undefined || beginsAnother(known, piece) ? begin(piece.index) : known;',
    replacement: 'known ?? begin(piece.index);',
    test: wire('chat-parallel-index-all-zero'),
  },
  {
    duty: 'assembly',
    file: `${openai}/growing-items.ts`,
    search: 'byId.get(id) ?? byPlace.get(place);',
    replacement: 'items.at(-1);',
    test: 'tests/models/responses.test.ts',
  },
  {
    duty: 'assembly',
    file: `${anthropic}/growing-blocks.ts`,
    search: "const args = json.trim() === '' ? textOfInput(start.input ?? {}) : json;",
    replacement: 'const args = json;',
    test: wire('anthropic-full-input-in-block-start'),
  },
  {
    duty: 'stream repair',
    file: 'src/models/repair.ts',
    search: "event === undefined || event === 'message' ? (typeOf(data) ?? event) : event;",
    replacement: 'event;',
    test: wire('anthropic-no-event-lines'),
  },
  {
    duty: 'stream repair',
    file: 'src/models/server-events.ts',
    search: 'if (data.length > 0) into.push(',
    replacement: 'into.push(',
    test: 'tests/models/stream.test.ts',
  },
  {
    duty: 'terminal signal',
    file: `${openai}/chat-turn.ts`,
    search: "let ending: Ending = options.stream ? 'cut' : 'end';",
    replacement: "let ending: Ending = 'end';",
    test: wire('chat-clean-eof-inside-arguments'),
  },
  {
    duty: 'terminal signal',
    file: `${openai}/responses-turn.ts`,
    search: "let ending: Ending = 'cut';",
    replacement: "let ending: Ending = 'end';",
    test: wire('responses-eof-after-finished-call'),
  },
  {
    duty: 'terminal signal',
    file: `${anthropic}/turn.ts`,
    search: "let ending: Ending = 'cut';",
    replacement: "let ending: Ending = 'end';",
    test: wire('anthropic-eof-without-message-stop'),
  },
  {
    duty: 'whole turns',
    file: 'src/models/commit.ts',
    search: "if (!has('text') || has('tool_call')) {",
    replacement: "if (!has('text') && !has('tool_call')) {",
    test: 'tests/models/openai.test.ts',
  },
  {
    duty: 'whole turns',
    file: 'src/models/commit.ts',
    search: "return { ...turn, stop: has('tool_call') ? 'tool_calls' : 'end' };",
    replacement:
      "return ending === 'end' ? { ...turn, content: turn.content.filter((part) => part.type !== 'tool_call'), stop: ending } : { ...turn, stop: ending };",
    test: wire('chat-finish-stop-with-tool-calls'),
  },
  {
    duty: 'retries',
    file: `${openai}/send.ts`,
    search: 'maxRetries: 0,',
    replacement: 'maxRetries: 2,',
    test: wire('chat-502-html'),
  },
  {
    duty: 'retries',
    file: 'src/models/retry-after.ts',
    search: 'if (exact !== undefined) return exact;',
    replacement: '',
    test: wire('chat-retry-after-ms-wins'),
  },
  {
    duty: 'retries',
    file: 'src/models/error-kind.ts',
    search: "if (has(QUOTA_CODES) || status === 402 || (!rateLimited && QUOTA.test(message))) return 'quota';",
    replacement: '',
    test: wire('chat-429-insufficient-quota'),
  },
  {
    duty: 'retries',
    file: `${openai}/responses-turn.ts`,
    search: "if (status === 'failed' || fields.error) throw",
    replacement: "if (status === 'nothing') throw",
    test: wire('responses-failed-rate-limit'),
  },
  {
    duty: 'idle timer',
    file: 'src/models/exchange.ts',
    search: 'if (assembler.take(next.value, context.onDelta)) watch.progress();',
    replacement: 'assembler.take(next.value, context.onDelta); watch.progress();',
    test: 'tests/models/openai.test.ts',
  },
  {
    duty: 'idle timer',
    file: 'src/models/watch.ts',
    search: 'let idle = idleMs === undefined ? undefined : setTimeout(tooQuiet, idleMs);',
    replacement: 'let idle: NodeJS.Timeout | undefined;',
    test: wire('responses-stall-after-headers'),
  },
  {
    duty: 'arguments',
    file: 'src/core/strict-json.ts',
    search: "new Set(['__proto__', 'constructor', 'prototype'])",
    replacement: 'new Set([])',
    test: 'tests/core/parse-arguments.test.ts',
  },
  {
    duty: 'arguments',
    file: 'src/core/strict-json.ts',
    search: '(!Number.isInteger(value) || Number.isSafeInteger(value))',
    replacement: 'true',
    test: wire('chat-integer-beyond-2-53'),
  },
  {
    duty: 'replay',
    file: 'src/models/native-turn.ts',
    search: 'return sameCalls(toolCallsOf(content), idsOf(turn)) ? turn : undefined;',
    replacement: 'return undefined;',
    test: wire('chat-reasoning-content-replay'),
  },
  {
    duty: 'replay',
    file: `${anthropic}/blocks.ts`,
    search: 'return turn === undefined ? undefined : listField(turn).map(fieldsOf).flatMap(replayed).map(wellFormed);',
    replacement: 'return undefined;',
    test: wire('anthropic-interleaved-thinking-replay'),
  },
  {
    duty: 'replay',
    file: `${openai}/responses-items.ts`,
    search: 'native === undefined ? neutralItems(message) :',
    replacement: 'native !== null ? neutralItems(message) :',
    test: wire('responses-reasoning-item-replay'),
  },
  {
    duty: 'replay',
    file: 'src/models/native-turn.ts',
    search: 'endpoint !== origin.endpoint || ',
    replacement: '',
    test: 'tests/models/moving.test.ts',
  },
  {
    duty: 'replay',
    file: `${anthropic}/blocks.ts`,
    search: 'if (last?.role === role) last.content.push(...distinct);',
    replacement: 'if (last?.role === undefined) wire.push({ role, content: distinct });',
    test: wire('anthropic-parallel-results-in-one-message'),
  },
  {
    duty: 'replay',
    file: 'src/models/distinct-ids.ts',
    search: 'newest.set(id, given);\n      return given;',
    replacement: 'newest.set(id, id);\n      return id;',
    test: 'tests/models/moving.test.ts',
  },
  {
    duty: 'names and schemas',
    file: 'src/models/tool-name.ts',
    search: 'if (name.length <= length && LEGAL.test(name)) return name;',
    replacement: 'if (length > 0) return name;',
    test: wire('chat-multi-tool-use-parallel'),
  },
  {
    duty: 'names and schemas',
    file: `${openai}/responses-request.ts`,
    search: 'strict: strictTools && isStrict(schema),',
    replacement: 'strict: true,',
    test: 'tests/models/responses.test.ts',
  },
  {
    duty: 'names and schemas',
    file: 'src/models/tool-schema.ts',
    search: 'if (found.length === 0) return { schema: parameters, note: undefined };',
    replacement: 'if (found.length >= 0) return { schema: parameters, note: undefined };',
    test: wire('anthropic-union-at-top-level'),
  },
  {
    duty: 'names and schemas',
    file: 'src/models/check-request.ts',
    search: 'if (length > rules.maxTools) {',
    replacement: 'if (length > 10 * rules.maxTools) {',
    test: wire('chat-129-tools'),
  },
  {
    duty: 'usage',
    file: `${anthropic}/turn.ts`,
    search: 'inputTokens: input + (read ?? 0) + (written ?? 0),',
    replacement: 'inputTokens: input,',
    test: wire('anthropic-usage-cumulative-with-cache'),
  },
  {
    duty: 'usage',
    file: `${openai}/chat-turn.ts`,
    search: 'usage = usageOf(fields) ?? usage;',
    replacement: 'usage ??= usageOf(fields);',
    test: wire('chat-usage-cumulative-in-every-chunk'),
  },
  {
    duty: 'usage',
    file: 'src/core/ask.ts',
    search: 'const { usage, costUsd } = outcome.ok ? outcome.value : outcome.error;',
    replacement: 'const { usage, costUsd }: Partial<ModelTurn> = outcome.ok ? outcome.value : {};',
    test: 'tests/core/cut-answers.test.ts',
  },
  {
    duty: 'loop guards',
    file: 'src/core/call-tools.ts',
    search: 'if (repeats.isRepeat(seen)) {',
    replacement: 'if (false as boolean) {',
    test: 'tests/core/repeats.test.ts',
  },
  {
    duty: 'loop guards',
    file: 'src/models/printed-call.ts',
    search: "if (typeof name !== 'string' || !offered.some((tool) => tool.name === name)) return undefined;",
    replacement: "if (typeof name !== 'string') return undefined;",
    test: 'tests/models/printed-call.test.ts',
  },
  {
    duty: 'more',
    file: `${anthropic}/cache.ts`,
    search: 'new Set(users.slice(-2));',
    replacement: 'new Set(users.slice(-1));',
    test: 'tests/models/prompt-cache.test.ts',
  },
  {
    duty: 'more',
    file: 'src/core/answer.ts',
    search: 'if (first.ok) return first.value.stop ===',
    replacement: "if (first.ok) return 'never' as string ===",
    test: 'tests/core/cut-answers.test.ts',
  },
  {
    duty: 'more',
    file: 'src/models/without-secrets.ts',
    search: "shown = shown.replaceAll(secret, '[redacted]');",
    replacement: 'shown = String(shown);',
    test: 'tests/models/wire-log.test.ts',
  },
  {
    duty: 'attacks',
    file: `${workspace}/workspace-path.ts`,
    search: "throw refusal('path_outside', given, 'leads out of the workspace.')",
    replacement: "names.push('..')",
    test: attack('WP-001'),
  },
  {
    duty: 'attacks',
    file: `${workspace}/workspace-path.ts`,
    search: "slashed.startsWith('/') || ",
    replacement: '',
    test: attack('WP-003'),
  },
  {
    duty: 'attacks',
    file: `${workspace}/workspace-path.ts`,
    search: 'DEVICE.test(name) || ',
    replacement: '',
    test: attack('WP-034'),
  },
  {
    duty: 'attacks',
    file: `${workspace}/workspace-path.ts`,
    search: 'SHORT_NAME.test(name) || ',
    replacement: '',
    test: attack('WP-039'),
  },
  {
    duty: 'attacks',
    file: `${workspace}/workspace-path.ts`,
    search: "name.includes(':') || ",
    replacement: '',
    test: attack('WP-038'),
  },
  {
    duty: 'attacks',
    file: `${workspace}/workspace-path.ts`,
    search: "if (given === '')",
    replacement: "if (given === 'never')",
    test: { file: 'tests/tools/workspace-files.test.ts', name: 'confinement' },
  },
  {
    duty: 'attacks',
    file: `${workspace}/workspace.ts`,
    search: 'if (path.isFolder) throw',
    replacement: "if (path.isFolder && path.given === '') throw",
    test: attack('WP-023'),
  },
  {
    duty: 'attacks',
    file: `${workspace}/workspace.ts`,
    search: "if (facts.isSymbolicLink()) throw refusal('path_symlink', given, 'is a link; links are not followed.');",
    replacement: '',
    test: attack('WP-004'),
  },
  {
    duty: 'attacks',
    file: `${workspace}/workspace.ts`,
    search: 'if (facts.nlink > 1n && !this.#allowHardLinks)',
    replacement: 'if (facts.nlink > 9n)',
    test: attack('WP-013'),
  },
  {
    duty: 'attacks',
    file: `${workspace}/workspace.ts`,
    search: 'const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants;',
    replacement: 'const { O_RDONLY, O_NONBLOCK = 0 } = constants;\n    const O_NOFOLLOW = 0;',
    test: { file: 'tests/tools/workspace-races.test.ts', name: 'reading a file' },
  },
  {
    duty: 'attacks',
    file: `${workspace}/workspace.ts`,
    search: 'if (dev === this.#identity.dev && ino === this.#identity.ino) return folder;',
    replacement: 'if (dev !== 0n || ino === this.#identity.ino) return folder;',
    test: { file: 'tests/tools/workspace-files.test.ts', name: 'confinement' },
  },
  {
    duty: 'attacks',
    file: `${workspace}/folder.ts`,
    search: 'O_RDONLY | O_DIRECTORY | O_NOFOLLOW)',
    replacement: 'O_RDONLY | O_DIRECTORY | (O_NOFOLLOW & 0))',
    test: attack('WP-006'),
  },
  {
    duty: 'attacks',
    file: `${workspace}/folder.ts`,
    search: "if (hold === 'paths') return",
    replacement: "if (hold === 'paths' || path !== '') return",
    test: { file: 'tests/tools/workspace-races.test.ts', name: 'reading' },
  },
  {
    duty: 'attacks',
    file: `${workspace}/protected-names.ts`,
    search: 'if (PROTECTED.has(fold(last))) return true;',
    replacement: 'if (PROTECTED.has(last)) return true;',
    test: attack('WP-041'),
  },
  {
    duty: 'attacks',
    file: `${workspace}/replace-file.ts`,
    search: 'await handle.writeFile(bytes);',
    replacement: 'const inPlace = await open(folder.at(name), O_WRONLY);\n      await inPlace.writeFile(bytes);',
    test: attack('WP-056'),
  },
  {
    duty: 'attacks',
    file: `${workspace}/replace-file.ts`,
    search: 'mode & 0o777);\n    } finally',
    replacement: 'mode);\n    } finally',
    test: { file: 'tests/tools/workspace-files.test.ts', name: 'writing' },
  },
  {
    duty: 'attacks',
    file: `${workspace}/change-file.ts`,
    search: 'if (known !== undefined && known !== before?.content.version) throw changed(path.given);',
    replacement: '',
    test: 'tests/tools/known-versions.test.ts',
  },
  {
    duty: 'attacks',
    file: `${workspace}/known-versions.ts`,
    search: 'findLast(({ step }) => step < before)',
    replacement: 'findLast(({ step }) => step < Infinity)',
    test: 'tests/tools/known-versions.test.ts',
  },
  {
    duty: 'attacks',
    file: `${workspace}/file-text.ts`,
    search: 'fatal: true,',
    replacement: 'fatal: false,',
    test: 'tests/tools/workspace-files.test.ts',
  },
  {
    duty: 'attacks',
    file: `${workspace}/walk-files.ts`,
    search: 'else if (levels.length > MAX_DEPTH) passed.deeper += 1;',
    replacement: 'else if (levels.length > 9_999) passed.deeper += 1;',
    test: attack('WP-051'),
  },
  {
    duty: 'attacks',
    file: `${commands}/preset.ts`,
    search: 'if (!SHELLS.test(program) && !isCode) return;',
    replacement: 'if (!isCode || isCode) return;',
    test: { file: 'tests/tools/commands.test.ts', name: 'definitions' },
  },
  {
    duty: 'attacks',
    file: `${commands}/command-schema.ts`,
    search: "if (!isFree && given.startsWith('-'))",
    replacement: "if (!isFree && given.startsWith('never'))",
    test: attack('CM-006'),
  },
  {
    duty: 'attacks',
    file: `${commands}/command-schema.ts`,
    search: "given.includes('\\0') || ",
    replacement: '',
    test: attack('CM-016'),
  },
  {
    duty: 'attacks',
    file: `${commands}/command-schema.ts`,
    search: '...unknown.map(',
    replacement: '...unknown.slice(9).map(',
    test: { file: 'tests/tools/commands.test.ts', name: 'parameters' },
  },
  {
    duty: 'attacks',
    file: `${commands}/command-arguments.ts`,
    search: "if (arg.type === 'path') await",
    replacement: "if (arg.type === ('never' as string)) await",
    test: attack('CM-011'),
  },
  {
    duty: 'attacks',
    file: `${commands}/find-program.ts`,
    search: 'isAbsolute(folder) && !isWithin(realOf(folder) ?? folder, root)',
    replacement: "folder !== ''",
    test: { file: 'tests/tools/commands.test.ts', name: 'definitions' },
  },
  {
    duty: 'attacks',
    file: `${commands}/command-env.ts`,
    search: 'of.passEnv.includes(name))',
    replacement: "name !== '')",
    test: { file: 'tests/tools/commands.test.ts', name: 'a command' },
  },
  {
    duty: 'attacks',
    file: `${commands}/git-safely.ts`,
    search: "[command, '--no-ext-diff', '--no-textconv', ...rest]",
    replacement: '[command, ...rest]',
    test: { file: 'tests/tools/commands.test.ts', name: 'git starts' },
  },
  {
    duty: 'attacks',
    file: `${commands}/git-safely.ts`,
    search: "'core.fsmonitor': 'false',",
    replacement: '',
    test: { file: 'tests/tools/commands.test.ts', name: 'git starts' },
  },
  {
    duty: 'attacks',
    file: `${commands}/run-process.ts`,
    search: 'if (child.pid !== undefined) endTree(child.pid, mark, true);',
    replacement: '',
    test: {
      file: 'tests/tools/process-trees.test.ts',
      name: 'process-group',
    },
  },
  {
    duty: 'attacks',
    file: `${commands}/end-tree.ts`,
    search: 'if (mine.has(parent)) mine.add(pid);',
    replacement: 'if (mine.has(-parent)) mine.add(pid);',
    test: { file: 'tests/tools/process-trees.test.ts', name: 'process-group' },
  },
  {
    duty: 'attacks',
    file: `${commands}/sandbox.ts`,
    search: "['--pid', '--fork', '--kill-child', '--mount-proc']",
    replacement: "['--fork', '--kill-child']",
    test: { file: 'tests/tools/process-trees.test.ts', name: 'unshare' },
  },
  {
    duty: 'attacks',
    file: `${commands}/output.ts`,
    search: 'if (text.length > this.#left) this.cut = stream;',
    replacement: '',
    test: attack('CM-026'),
  },
  {
    duty: 'attacks',
    file: `${fetching}/allowed-url.ts`,
    search: "if (url.username !== '' || url.password !== '')",
    replacement: "if (url.username === 'never')",
    test: 'tests/tools/fetch.test.ts',
  },
  {
    duty: 'attacks',
    file: `${fetching}/allowed-url.ts`,
    search: "host.startsWith('.') && name.endsWith(host)",
    replacement: 'name.endsWith(host)',
    test: 'tests/tools/fetch.test.ts',
  },
  {
    duty: 'attacks',
    file: `${fetching}/fetch-tool.ts`,
    search: 'to = allowedUrl(next.href, rules);',
    replacement: 'to = { ...to, url: next, port: Number(next.port || 80) };',
    test: 'tests/tools/fetch.test.ts',
  },
  {
    duty: 'attacks',
    file: `${fetching}/fetch-tool.ts`,
    search: 'addresses.some((address) => !isPublic(ipaddr, address))',
    replacement: 'addresses.every((address) => !isPublic(ipaddr, address))',
    test: 'tests/tools/fetch.test.ts',
  },
  {
    duty: 'attacks',
    file: `${fetching}/public-address.ts`,
    search: "if (address.range() !== 'unicast') return false;",
    replacement: "if (address.range() === 'loopback') return false;",
    test: 'tests/tools/fetch.test.ts',
  },
  {
    duty: 'attacks',
    file: `${fetching}/send-request.ts`,
    search: 'const socket = connect({ address, port });',
    replacement: 'const socket = connect({ address: hostname, port });',
    test: 'tests/tools/fetch.test.ts',
  },
  {
    duty: 'attacks',
    file: `${fetching}/read-page.ts`,
    search: 'if (total > max) {',
    replacement: 'if (total > max * 1e9) {',
    test: 'tests/tools/fetch.test.ts',
  },
];
