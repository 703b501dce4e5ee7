import type { TestProject } from 'vitest/node'
import { setUpDatabases } from '../helpers/databases-setup.js'
import { startPostgresServer } from '../helpers/postgres-server.js'
import { type PoolMode, startPooler } from './pooler.js'

/** Lets all databases of a project be reached through a PgBouncer. The project's name is the pooler's mode. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const mode = project.name as PoolMode
  const server = await startPostgresServer(['-c', 'max_connections=300', '-c', 'fsync=off'])
  const pooler = await startPooler(server.url(), mode)
  if (mode === 'transaction') project.provide('direct', server.url())
  const end = await setUpDatabases(project, pooler.url())
  return async () => {
    await end()
    await pooler.stop()
    await server.stop()
  }
}
