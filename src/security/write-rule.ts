import { ConfigurationError, messageOf } from '../core/values/errors.ts';
import { contentOf, textOf } from './permission-file.ts';

/**
 * Adds a rule to a file of permissions, where a person can see it and take it out again. The file is replaced as a whole; one that
 * has the rule stays as it is.
 *
 * @throws ConfigurationError where the file holds something else, or cannot be written.
 */
export function writeRule(path: string, rule: string): void {
  const { rules, mode } = contentOf(path, textOf(path) ?? '{}');
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
