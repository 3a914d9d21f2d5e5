import { ConfigurationError, messageOf } from '../core/values/errors.ts';
import { contentOf, fileText } from './permission-file.ts';

/**
 * Adds a rule to a file of permissions, where a person can see and remove it. The file is replaced as a whole; a file that has the
 * rule stays unchanged.
 *
 * @throws ConfigurationError if the file has other content, or cannot be written.
 */
export function writeRule(path: string, rule: string): void {
  const { rules, mode } = contentOf(path, fileText(path) ?? '{}');
  if (rules.includes(rule)) return;
  const content = { rules: [...rules, rule], ...(mode !== undefined && { mode }) };
  const fs = process.getBuiltinModule('node:fs');
  const fresh = `${path}.${process.pid}.new`;
  try {
    fs.writeFileSync(fresh, `${JSON.stringify(content, null, 2)}\n`, { flag: 'wx', mode: 0o644 });
    fs.renameSync(fresh, path);
  } catch (thrown) {
    fs.rmSync(fresh, { force: true });
    throw new ConfigurationError(
      path,
      `the rule '${rule}' could not be written (${messageOf(thrown)})`,
      'Add it there.',
    );
  }
}
