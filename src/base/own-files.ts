import { createRequire } from 'node:module'

/**
 * Returns the path of a file of this package, found by the package's own name. This works in the source, in the build,
 * and in a host's bundle if the package is installed beside it. Otherwise throws.
 */
export function pathOfOwn(file: string): string {
  let cause: unknown
  try {
    const path: unknown = createRequire(import.meta.url).resolve(`compat-router/${file}`)
    // webpack numbers its modules, and returns a number instead of the path.
    if (typeof path === 'string') return path
  } catch (error) {
    cause = error
  }
  throw new Error(
    `compat-router/${file} cannot be found: keep compat-router out of the bundle (with esbuild: --packages=external) and install it where the program runs`,
    { cause },
  )
}
