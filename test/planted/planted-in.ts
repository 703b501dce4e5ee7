import type { Hole } from './holes.js'

/** Returns the source of a file with a hole in it. Throws if the place is not there, or not the only one. */
export function plantedIn(source: string, { file, from, name, to }: Hole): string {
  const places = source.split(from).length - 1
  if (places !== 1) throw new Error(`${name} has ${places} places in ${file}: mend its 'from'.`)
  return source.replace(from, () => to)
}
