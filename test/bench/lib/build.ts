import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { createRouter } from './router-under-test.js'

/**
 * Returns the function that makes a router of a build. Builds have different names for options and stores, so the bench of
 * each has its own `router-under-test.ts`. That of this build is used if the other was not built.
 */
export async function routerMaker(dist: string): Promise<typeof createRouter> {
  const own = join(dist, '../test/bench/.programs/router-under-test.js')
  if (!existsSync(own)) return createRouter
  const build = (await import(pathToFileURL(own).href)) as { createRouter: typeof createRouter }
  return build.createRouter
}
