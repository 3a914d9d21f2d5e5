/** The K best of what is offered: a heap with the worst at its root. Of equal scores the lower number is better. */
export class TopK {
  readonly #k: number;
  readonly #numbers: number[] = [];
  readonly #scores: number[] = [];

  constructor(k: number) {
    this.#k = k;
  }

  /** A score below this changes nothing. */
  get threshold(): number {
    return this.#numbers.length < this.#k ? Number.NEGATIVE_INFINITY : (this.#scores[0] as number);
  }

  offer(number: number, score: number): void {
    const size = this.#numbers.length;
    if (size < this.#k) {
      this.#numbers.push(number);
      this.#scores.push(score);
      this.#up(size);
    } else if (size > 0 && isBetter(score, number, this.#scores[0] as number, this.#numbers[0] as number)) {
      this.#numbers[0] = number;
      this.#scores[0] = score;
      this.#down();
    }
  }

  /** Best first. */
  sorted(): { readonly number: number; readonly score: number }[] {
    return this.#numbers
      .map((number, index) => ({ number, score: this.#scores[index] as number }))
      .sort((a, b) => b.score - a.score || a.number - b.number);
  }

  #up(from: number): void {
    let at = from;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!this.#isWorse(at, parent)) return;
      this.#swap(at, parent);
      at = parent;
    }
  }

  #down(): void {
    const size = this.#numbers.length;
    let at = 0;
    for (;;) {
      const left = 2 * at + 1;
      let worst = at;
      if (left < size && this.#isWorse(left, worst)) worst = left;
      if (left + 1 < size && this.#isWorse(left + 1, worst)) worst = left + 1;
      if (worst === at) return;
      this.#swap(at, worst);
      at = worst;
    }
  }

  #isWorse(a: number, b: number): boolean {
    return isBetter(
      this.#scores[b] as number,
      this.#numbers[b] as number,
      this.#scores[a] as number,
      this.#numbers[a] as number,
    );
  }

  #swap(a: number, b: number): void {
    [this.#numbers[a], this.#numbers[b]] = [this.#numbers[b] as number, this.#numbers[a] as number];
    [this.#scores[a], this.#scores[b]] = [this.#scores[b] as number, this.#scores[a] as number];
  }
}

function isBetter(score: number, number: number, thanScore: number, thanNumber: number): boolean {
  return score > thanScore || (score === thanScore && number < thanNumber);
}
