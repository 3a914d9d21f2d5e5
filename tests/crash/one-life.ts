import { spawn } from 'node:child_process';

/** One life of a program in a process of its own; true where it was killed. */
export function oneLife(program: string, more: { readonly [name: string]: string | undefined }): Promise<boolean> {
  const env = { ...process.env, ...more };
  const child = spawn(process.execPath, ['--no-warnings', program], { env, stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.on('data', (chunk) => {
    said += chunk;
  });
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => {
      if (signal === 'SIGKILL') resolve(true);
      else if (code === 0) resolve(false);
      else reject(new Error(`the program ended with ${code}: ${said}`));
    });
  });
}
