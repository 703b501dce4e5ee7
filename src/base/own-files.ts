import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

/**
 * Returns the path of a file that this package's build has, such as `sqlite-worker.cjs`. The package is found by its own
 * name. This works in the source, in the build, and in a host's bundle if the package is installed beside it; a bundle in
 * CommonJS does not know where it is, so the package is looked for where the program runs. Otherwise throws.
 */
export function pathOfOwn(file: string): string {
  let cause: unknown
  try {
    const path: unknown = createRequire(import.meta.url ?? join(process.cwd(), 'bundle.cjs')).resolve(
      'compat-router/package.json',
    )
    // webpack numbers its modules, and returns a number instead of the path.
    if (typeof path === 'string') return join(dirname(path), 'dist', file)
  } catch (error) {
    cause = error
  }
  throw new Error(
    `compat-router/dist/${file} cannot be found: keep compat-router out of the bundle (with esbuild: --packages=external) and install it where the program runs`,
    { cause },
  )
}
