/** Git's name for a tree without entries, by the hash of the repository. */
const EMPTY_TREE = {
  sha1: '4b825dc642cb6eb9a060e54bf8d69288fbee4904',
  sha256: '6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321',
};

/** Settings that name programs or lead to them; those of the environment override those of the repository. */
const SETTINGS: readonly (readonly [name: string, value: string])[] = [
  ['safe.bareRepository', 'explicit'],
  ['core.fsmonitor', 'false'],
  ['core.hooksPath', '/dev/null'],
  ['core.attributesFile', '/dev/null'],
  ['core.alternateRefsCommand', 'true'],
  ['core.pager', 'cat'],
  ['core.editor', 'false'],
  ['sequence.editor', 'false'],
  ['core.sshCommand', 'false'],
  ['core.gitProxy', ''],
  ['core.askPass', ''],
  ['credential.helper', ''],
  ['diff.external', 'true'],
  ['diff.ignoreSubmodules', 'all'],
  ['diff.submodule', 'short'],
  ['diff.autoRefreshIndex', 'false'],
  ['log.diffMerges', 'separate'],
  ['log.showSignature', 'false'],
  ['status.submoduleSummary', 'false'],
  ['submodule.recurse', 'false'],
  ['gpg.program', 'false'],
  ['gpg.openpgp.program', 'false'],
  ['gpg.ssh.program', 'false'],
  ['gpg.ssh.defaultKeyCommand', 'false'],
  ['gpg.x509.program', 'false'],
  ['interactive.diffFilter', ''],
  ['protocol.allow', 'never'],
  ['gc.auto', '0'],
  ['maintenance.auto', 'false'],
];

/** Sections whose settings are data for the subcommands of presets: names, addresses, numbers, forms of output. */
const DATA: ReadonlySet<string> = new Set([
  ...['advice', 'apply', 'author', 'blame', 'branch', 'checkout', 'clean', 'color', 'column', 'commit', 'committer'],
  ...[
    'diff',
    'extensions',
    'feature',
    'fetch',
    'format',
    'gc',
    'grep',
    'http',
    'i18n',
    'include',
    'includeif',
    'index',
  ],
  ...['init', 'log', 'mailmap', 'maintenance', 'merge', 'notes', 'pack', 'pull', 'push', 'rebase', 'receive', 'repack'],
  ...['rerere', 'safe', 'showbranch', 'status', 'submodule', 'tag', 'transfer', 'uploadpack', 'url', 'user'],
  ...['versionsort', 'worktree'],
]);
/** Of sections with a name in them, which may be a driver: settings that are data. */
const OF_DRIVER = /^(?:diff|merge)\..*\.(?:binary|xfuncname|funcname|wordregex|algorithm|name|recursive)$/s;
const OF_CORE: ReadonlySet<string> = new Set([
  ...['abbrev', 'autocrlf', 'bare', 'bigfilethreshold', 'checkstat', 'commentchar', 'commentstring', 'commitgraph'],
  ...['compression', 'createobject', 'deltabasecachelimit', 'disambiguate', 'eol', 'excludesfile', 'filemode'],
  ...['filesreflocktimeout', 'fscache', 'fsync', 'fsyncmethod', 'fsyncobjectfiles', 'hidedotfiles', 'ignorecase'],
  ...['ignorestat', 'logallrefupdates', 'longpaths', 'loosecompression', 'maxtreedepth', 'multipackindex', 'notesref'],
  ...['packedgitlimit', 'packedgitwindowsize', 'packedrefstimeout', 'precomposeunicode', 'preferssymlinkrefs'],
  ...['preloadindex', 'protecthfs', 'protectntfs', 'quotepath', 'repositoryformatversion', 'restrictinheritedhandles'],
  ...['safecrlf', 'sharedrepository', 'sparsecheckout', 'sparsecheckoutcone', 'splitindex', 'symlinks', 'trustctime'],
  ...['untrackedcache', 'usereplacerefs', 'warnambiguousrefs', 'whitespace', 'worktree'],
]);

/** Lists the settings of a repository and starts nothing. */
export const LIST_SETTINGS: readonly string[] = ['--no-pager', 'config', '--list', '--includes', '--null'];

/** What is known of a repository before a subcommand runs in it. */
export interface GitFacts {
  /** Names of the settings that are not known to be data. */
  readonly names: readonly string[];
  readonly hash: keyof typeof EMPTY_TREE;
}

export const NO_FACTS: GitFacts = { names: [], hash: 'sha1' };

/** Reads the output of {@link LIST_SETTINGS}. */
export function gitFacts(listed: string): GitFacts {
  const names = new Set<string>();
  let hash: GitFacts['hash'] = 'sha1';
  for (const entry of listed.split('\0')) {
    const end = entry.indexOf('\n');
    const name = end === -1 ? entry : entry.slice(0, end);
    if (name === '') continue;
    if (name === 'extensions.objectformat' && entry.slice(end + 1) === 'sha256') hash = 'sha256';
    if (!isData(name)) names.add(name);
  }
  return { names: [...names], hash };
}

function isData(name: string): boolean {
  const section = name.slice(0, name.indexOf('.'));
  const last = name.slice(name.lastIndexOf('.') + 1);
  const hasSubsection = section.length + 1 + last.length < name.length;
  if (section === 'core') return !hasSubsection && OF_CORE.has(last);
  if (section === 'remote') return ['url', 'pushurl', 'fetch', 'push', 'mirror', 'tagopt', 'prune'].includes(last);
  if (section === 'diff' || section === 'merge') return hasSubsection ? OF_DRIVER.test(name) : last !== 'external';
  return DATA.has(section);
}

/** The value under which a setting starts nothing: a filter without a program is none, any other program does nothing. */
function harmless(name: string): string {
  const isFilter = name.startsWith('filter.') && !name.endsWith('.required');
  return isFilter ? '' : 'false';
}

/** Variables under which git starts no program that a repository names. They override what a preset or the process says. */
export function gitEnv({ names, hash }: GitFacts = NO_FACTS): { readonly [name: string]: string } {
  const fixed = new Set(SETTINGS.map(([name]) => name.toLowerCase()));
  const settings = [
    ...SETTINGS,
    ...names.filter((name) => !fixed.has(name)).map((name) => [name, harmless(name)] as const),
  ];
  const entries = settings.flatMap(([name, value], index) => [
    [`GIT_CONFIG_KEY_${index}`, name],
    [`GIT_CONFIG_VALUE_${index}`, value],
  ]);
  return {
    ...Object.fromEntries(entries),
    GIT_CONFIG_COUNT: String(settings.length),
    // Attributes of files name filters and converters. Since git 2.41; those of `.git/info` remain, and have no programs left.
    GIT_ATTR_SOURCE: EMPTY_TREE[hash],
    GIT_ATTR_NOSYSTEM: '1',
    // An object that is missing would be asked for, by a program that the repository names.
    GIT_NO_LAZY_FETCH: '1',
    GIT_ALLOW_PROTOCOL: 'none',
    GIT_PAGER: 'cat',
    GIT_EDITOR: 'false',
    GIT_SEQUENCE_EDITOR: 'false',
    GIT_ASKPASS: '',
    GIT_TERMINAL_PROMPT: '0',
    GIT_OPTIONAL_LOCKS: '0',
  };
}

/** Variables that settings of git stand in, and those that name programs: a preset's and the process's are left out. */
export const OWN_OF_GIT =
  /^GIT_(?:CONFIG_(?:COUNT|PARAMETERS|KEY_\d+|VALUE_\d+)|EXTERNAL_DIFF|EXEC_PATH|SSH|SSH_COMMAND|PROXY_COMMAND|TEMPLATE_DIR)$/;
