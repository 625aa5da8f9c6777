// Many points as a density: each cell has the mean color of its points, and its opacity grows with their number.

const GRAIN = 3; // pixels
const STRENGTH = 1.1;
const SPARSE = 2; // mean points per filled cell; below that, the picture is smoothed more

export class Density {
  constructor(canvas) {
    this.canvas = canvas;
  }

  // `range` is the visible part of the plane, `weights` the weight of each point, `colors` has [r, g, b] by owner.
  draw({ x, y, range, width, height, weights, owners, colors }) {
    const [across, down] = [Math.ceil(width / GRAIN), Math.ceil(height / GRAIN)];
    Object.assign(this, { across, down, last: new Int32Array(across * down).fill(-1) });
    const [left, top] = [range.x[0], range.y[1]];
    const [toColumn, toRow] = [width / GRAIN / (range.x[1] - left), height / GRAIN / (top - range.y[0])];
    const sums = [0, 1, 2, 3].map(() => new Float32Array(across * down)); // red, green, blue, points
    for (let i = 0; i < x.length; i++) {
      const [column, row] = [Math.floor((x[i] - left) * toColumn), Math.floor((top - y[i]) * toRow)];
      if (!weights[i] || column < 0 || row < 0 || column >= across || row >= down) continue;
      const cell = row * across + column;
      const color = colors[owners[i]];
      sums[0][cell] += weights[i] * color[0];
      sums[1][cell] += weights[i] * color[1];
      sums[2][cell] += weights[i] * color[2];
      sums[3][cell] += weights[i];
      if (weights[i] === 1) this.last[cell] = i;
    }
    const filled = sums[3].reduce((n, value) => n + (value > 0), 0);
    const isSparse = sums[3].reduce((sum, value) => sum + value, 0) < SPARSE * filled;
    this.#show(sums.map((sum) => this.#blurred(sum, isSparse ? 3 : 1)));
  }

  #blurred(values, times) {
    return times ? this.#blurred(this.#averaged(this.#averaged(values, 1), this.across), times - 1) : values;
  }

  #averaged(values, step) {
    const averaged = values.slice();
    for (let i = step; i < values.length - step; i++) {
      averaged[i] = 0.25 * values[i - step] + 0.5 * values[i] + 0.25 * values[i + step];
    }
    return averaged;
  }

  #show([red, green, blue, points]) {
    let [filled, total] = [0, 0];
    for (const value of points) {
      if (value < 0.1) continue;
      filled++;
      total += value;
    }
    const usual = total / Math.max(1, filled);
    const picture = new ImageData(this.across, this.down);
    for (let i = 0; i < points.length; i++) {
      if (!points[i]) continue;
      const share = 1 - Math.exp(-STRENGTH * points[i] / usual);
      picture.data[4 * i] = red[i] / points[i];
      picture.data[4 * i + 1] = green[i] / points[i];
      picture.data[4 * i + 2] = blue[i] / points[i];
      picture.data[4 * i + 3] = 255 * share;
    }
    Object.assign(this.canvas, { width: this.across, height: this.down });
    this.canvas.getContext("2d").putImageData(picture, 0, 0);
  }

  // A point nearby, for the tooltip; null if there is none.
  pointAt(x, y) {
    const [column, row] = [Math.floor(x / GRAIN), Math.floor(y / GRAIN)];
    for (let reach = 0; reach < 3; reach++) {
      for (let dy = -reach; dy <= reach; dy++) {
        for (let dx = -reach; dx <= reach; dx++) {
          const [c, r] = [column + dx, row + dy];
          const inside = c >= 0 && r >= 0 && c < this.across && r < this.down;
          if (inside && this.last[r * this.across + c] >= 0) return this.last[r * this.across + c];
        }
      }
    }
    return null;
  }
}
