export function row(title: string, columns: readonly (string | number)[]): void {
  const cells = columns.map((cell) => (typeof cell === 'number' ? cell.toFixed(2) : cell).padStart(15));
  console.log(`${title.padEnd(28)}${cells.join(' ')}`);
}

export function goalLine(title: string, figure: number, goal: number, unit: string, bound: 'most' | 'least'): string {
  const isMet = bound === 'most' ? figure <= goal : figure >= goal;
  const sign = bound === 'most' ? '≤' : '≥';
  const shown = `${figure.toFixed(2)} ${unit}`;
  return `${isMet ? 'met   ' : 'MISSED'}  ${title.padEnd(46)}${shown.padStart(12)}   goal ${sign} ${goal} ${unit}`;
}
