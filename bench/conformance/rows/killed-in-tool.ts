import { spawn } from 'node:child_process';
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Row, Team } from '../team.ts';

const PROGRAM = fileURLToPath(new URL('../kept-program.ts', import.meta.url));

export const killedInTool: Row = {
  id: 'killed-in-tool',
  title: 'SIGKILL inside a tool that changes something, then a new process',
  good: 'what was finished is not done again, what is unknown neither, and the run comes to its end',
  async play(contender) {
    if (contender.runDurable === undefined) return { ok: false, saw: 'lost: nothing outlives the process' };
    const folder = mkdtempSync(join(tmpdir(), 'kept-'));
    try {
      const first = await program(contender.name, folder);
      if (first.signal !== 'SIGKILL') return { ok: false, saw: `the first process: ${first.said}` };
      const second = await program(contender.name, folder);
      const done = existsSync(join(folder, 'done'))
        ? readFileSync(join(folder, 'done'), 'utf8').trim().split('\n')
        : [];
      const count = (name: string) => done.filter((one) => one === name).length;
      if (count('look') !== 1) return { ok: false, saw: 'all again: a finished call was repeated' };
      if (count('pay') !== 1) return { ok: false, saw: `paid ${count('pay')} times` };
      return second.code === 0 ? { ok: true, saw: 'ok' } : { ok: false, saw: `not twice, and no end: ${second.said}` };
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

/** The team of both processes. Its second tool kills the first process that calls it, after its work is done. */
export function keptTeam(folder: string): Team {
  const note = (name: string) => appendFileSync(join(folder, 'done'), `${name}\n`);
  const look = {
    name: 'look',
    execute: () => {
      note('look');
      return 'SEEN';
    },
  };
  const pay = {
    name: 'pay',
    hasEffect: true,
    execute: async () => {
      const isFirst = !existsSync(join(folder, 'done')) || !readFileSync(join(folder, 'done'), 'utf8').includes('pay');
      note('pay');
      if (isFirst) process.kill(process.pid, 'SIGKILL');
      return 'PAID';
    },
  };
  return {
    lead: { name: 'lead', tools: [look, pay] },
    task: 'Start',
    approve: async () => true,
    think: ({ text, turn }) => {
      if (turn === 1) return { calls: [{ to: 'look', query: 'Go' }] };
      if (turn === 2 && text.includes('SEEN')) return { calls: [{ to: 'pay', query: '5' }] };
      return { text: 'done' };
    },
  };
}

function program(name: string, folder: string): Promise<{ code: number | null; signal: string | null; said: string }> {
  return new Promise((resolve, reject) => {
    // The condition that resolves this project's own sources; it has no effect on other packages.
    const args = ['--conditions=@coxswain/source', PROGRAM, name, folder];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'], timeout: 30_000 });
    let said = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (piece: Buffer) => (said = String(piece)));
    child.on('error', reject);
    child.on('close', (code, signal) => resolve({ code, signal, said: said.trim().slice(0, 100) }));
  });
}
