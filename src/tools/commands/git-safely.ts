/**
 * A repository's settings may name programs that git starts itself, and the repository may be untrusted. Settings of the
 * environment override those of the repository.
 */
const SETTINGS: { readonly [name: string]: string } = {
  'core.fsmonitor': 'false',
  'core.hooksPath': '/dev/null',
  'core.pager': 'cat',
  'core.editor': 'false',
  'sequence.editor': 'false',
  'core.sshCommand': 'false',
  'core.gitProxy': '',
  'core.askPass': '',
  'credential.helper': '',
  'log.showSignature': 'false',
  'gpg.program': 'false',
  'gpg.ssh.program': 'false',
  'gpg.x509.program': 'false',
  'interactive.diffFilter': '',
  'protocol.ext.allow': 'never',
};

/** Git's name for a tree without entries. */
const EMPTY_TREE = '4b825dc642cb6eb9a060e54bf8d69288fbee4904';

/** Variables under which git starts no program that a repository names. */
export function gitEnv(): { readonly [name: string]: string } {
  const entries = Object.entries(SETTINGS).flatMap(([name, value], index) => [
    [`GIT_CONFIG_KEY_${index}`, name],
    [`GIT_CONFIG_VALUE_${index}`, value],
  ]);
  return {
    ...Object.fromEntries(entries),
    GIT_CONFIG_COUNT: String(Object.keys(SETTINGS).length),
    // Attributes of files name filters and converters, which are programs of the settings. Since git 2.41.
    GIT_ATTR_SOURCE: EMPTY_TREE,
    GIT_PAGER: 'cat',
    GIT_EDITOR: 'false',
    GIT_TERMINAL_PROMPT: '0',
    GIT_OPTIONAL_LOCKS: '0',
  };
}

const SHOW_CHANGES: ReadonlySet<string> = new Set(['diff', 'log', 'show', 'whatchanged']);

/** Whether a program is git. */
export function isGit(program: string): boolean {
  return /(?:^|[\\/])git(?:\.exe)?$/i.test(program);
}

/** The arguments of git, so that what shows changes runs no program for it. */
export function gitArgs(args: readonly string[]): readonly string[] {
  const [command = '', ...rest] = args;
  return SHOW_CHANGES.has(command) ? [command, '--no-ext-diff', '--no-textconv', ...rest] : args;
}
