/**
 * With `LONG=1`, tests ask their long questions too. `npm run test:long` runs every file that imports this, which `npm test`
 * asks a short form.
 */
export const isLong = process.env.LONG !== undefined
