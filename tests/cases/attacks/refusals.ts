/** How ours refused: an error of a tool call, or a ConfigurationError. */
export interface Refusal {
  /** The error's kind, `configuration` for a ConfigurationError, or a status. */
  readonly kind: string;
  readonly code?: string | undefined;
  readonly message: string;
}

type Is = (refusal: Refusal) => boolean;

const code =
  (...codes: string[]): Is =>
  (refusal) =>
    codes.includes(refusal.code ?? '');
const kind =
  (name: string, message: RegExp): Is =>
  (refusal) =>
    refusal.kind === name && message.test(refusal.message);
const either =
  (...all: Is[]): Is =>
  (refusal) =>
    all.some((is) => is(refusal));
const parsing = /forbidden key|duplicate key|too large|too deep/;

/** errorKind → our error types. The one table: the right outcome with another type is a failed case. */
const REFUSALS: { readonly [errorKind: string]: Is } = {
  'args.invalid': either(
    (refusal) => refusal.kind === 'invalid_json' && !parsing.test(refusal.message),
    (refusal) =>
      refusal.kind === 'invalid_args' &&
      !parsing.test(refusal.message) &&
      !/^\$\.(?:params|preset)\b/.test(refusal.message),
  ),
  'args.forbidden-key': kind('invalid_args', /forbidden key/),
  'args.duplicate-key': kind('invalid_args', /duplicate key/),
  'args.too-large': kind('invalid_args', /too large/),
  'args.too-deep': kind('invalid_args', /too deep/),
  'schema.rejected': kind('configuration', /\.input/),
  'tool.unknown': (refusal) => refusal.kind === 'unknown_tool',
  'tool.not-permitted': either((refusal) => refusal.kind === 'unknown_tool', kind('denied', /not among the tools/)),
  'permission.denied': kind('denied', /denied by the rule|mode 'plan'/),
  'permission.ask-required': kind('denied', /mode 'unattended'/),
  'permission.rule-invalid': kind('configuration', /permissions\.rules|\.json rules/),
  'config.invalid': kind('configuration', /permissions\.mode|\.json mode|\.json: (?:no JSON|expected an object)/),
  'config.untrusted-field': kind('configuration', /a file may not set this|only code may give/),
  'tool.definition-changed': either(
    code('tool_definition_changed'),
    kind('denied', /changed its tool|definition changed/),
  ),
  'mcp.config-changed': either(
    (refusal) => refusal.kind === 'divergence',
    kind('denied', /another server|was started/),
  ),
  'approval.missing': kind('denied', /nobody is there to give it/),
  'approval.expired': either(kind('denied', /expired|came too late/), kind('configuration', /^id: .* expired at/)),
  'approval.failed': kind('denied', /approve threw/),
  'approval.invalid-answer': either(kind('denied', /not a decision/), kind('configuration', /^decision\b/)),
  'approval.mismatch': either(
    (refusal) => refusal.kind === 'journal' && /hash chain/.test(refusal.message),
    kind('denied', /not the ones that were shown/),
  ),
  'approval.replayed': kind('configuration', /^id: .* was (?:answered|decided) before/),
  'approval.wrong-run': kind('configuration', /^(?:runId: there is no run|id: nothing waits under)/),
  'approval.wrong-principal': kind('configuration', /from inside the tree is refused/),
  'delegation.widening': kind('invalid_args', /^\$\.tools: unknown key/),
  'delegation.cycle': kind('configuration', /cycle: /),
  'delegation.depth': (refusal) => /the depth limit of \d+ is reached/.test(refusal.message),
  'delegation.fan-out': (refusal) => /the limit of \d+ agents .*is reached/.test(refusal.message),
  'delegation.budget': (refusal) =>
    refusal.kind === 'token_limit' || /the limit of \d+ agents .*is reached/.test(refusal.message),
  'delegation.quarantine': kind('configuration', /^agent [\w-]+\.\w+: .*quarantined/),
  'delegation.bad-result': (refusal) => refusal.kind === 'invalid_output',
  'delegation.reserved-name': kind('configuration', /is reserved|cycle: |duplicate name/),
  'run.cancelled': (refusal) => refusal.kind === 'cancelled' || /cancelled/.test(refusal.message),
  'state.integrity': kind('journal', /hash chain|was changed|without the key|can be told/),
  'state.rollback': kind('journal', /the end of its records was changed or is missing/),
  'state.version': kind('journal', /newer coxswain/),
  'state.forbidden-key': kind('journal', /forbidden key/),
  'state.corrupt': kind('journal', /is damaged|JSON/),
  'state.bad-id': kind('configuration', /^runId: got/),
  'flow.untrusted-to-effect': kind('denied', /./),
  'path.outside': code('path_outside'),
  'path.symlink': code('path_symlink'),
  'path.hard-link': code('path_hard_link'),
  'path.special-file': code('path_special_file'),
  'path.invalid': either(
    code('path_invalid'),
    kind('denied', /invisible character/),
    // What no text can hold is found before the path is read.
    kind('invalid_args', /^\$\.path: .*lone surrogate/),
  ),
  'path.not-found': code('path_not_found'),
  'path.reserved-name': code('path_reserved_name'),
  'path.protected': code('path_protected'),
  'command.unknown-preset': kind('invalid_args', /^\$\.preset: expected one of/),
  'command.preset-invalid': kind('configuration', /commandTool\.presets/),
  'command.bad-argument': either(kind('invalid_args', /^\$\.params/), code('command_bad_argument')),
  'command.option-injection': kind('invalid_args', /^\$\.params\.\w+: begins with '-'/),
  'command.timeout': code('command_timeout'),
  'command.output-limit': code('command_output_limit'),
  'memory.write-denied': kind('unknown_tool', /"memory_save"/),
  'memory.delete-denied': kind('unknown_tool', /"memory_forget"/),
  'memory.bad-tenant': kind('threw', /^options\.namespace: is no name of a namespace/),
  'memory.invalid-vector': kind('threw', /so nothing was saved/),
  // Frozen values: what JavaScript itself throws in the worker's code.
  'store.read-only': kind('frozen', /read only|not extensible|Cannot/),
  'http.bad-host': code('bad-host'),
  'http.bad-origin': code('bad-origin'),
  'http.unauthenticated': code('unauthenticated'),
  'http.content-type': code('content-type'),
  'http.too-large': code('too-large'),
  'http.not-found': code('not-found'),
  'net.url-denied': code('net_url_denied'),
  'net.address-denied': code('net_address_denied'),
};

/** Whether a refusal is of the named kind. */
export function isOfKind(refusal: Refusal | undefined, errorKind: string): boolean {
  const is = REFUSALS[errorKind];
  if (is === undefined) throw new Error(`no error type is mapped to ${errorKind}`);
  return refusal !== undefined && is(refusal);
}
