import { createRequire } from 'node:module'

/**
 * The path of a file of this package, found by the package's own name: from its source, its build, and a host's bundle
 * if the package is installed beside it. Throws if a bundle makes that impossible.
 */
export function pathOfOwn(file: string): string {
  let cause: unknown
  try {
    const path: unknown = createRequire(import.meta.url).resolve(`compat-router/${file}`)
    // webpack has numbers for modules, and puts one in place of the path.
    if (typeof path === 'string') return path
  } catch (error) {
    cause = error
  }
  throw new Error(
    `compat-router/${file} cannot be found: leave compat-router outside of the bundle (with esbuild: --packages=external) and install it where the program runs`,
    { cause },
  )
}
