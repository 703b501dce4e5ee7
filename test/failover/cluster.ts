import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  appendFileSync,
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { expect } from 'vitest'
import { type PostgresServer, startPostgresServer } from '../helpers/postgres-server.js'
import { type Address, startAddress } from './address.js'

/** A primary with one standby that streams from it, behind an address that follows the primary. */
export interface Cluster {
  /** The address of the primary. */
  readonly url: string
  /** Lets nothing more reach the standby, as if its network were slow, until it is promoted. */
  stallReplication(): void
  /** Kills the primary with SIGKILL, promotes the standby, and then points the address to it. Until then, nothing answers there. */
  failOver(downMs: number): Promise<void>
  /** Makes a new standby from a copy of the primary, while that is in use. Resolves when it streams. */
  addStandby(): Promise<void>
  stop(): Promise<void>
}

/** The machine keeps running, so what was written outlives a kill without `fsync`. */
const SETTINGS = ['max_connections=200', 'wal_keep_size=256MB', 'fsync=off'].flatMap((setting) => [
  '-c',
  setting,
])
const PROMOTION_S = 30

/** @param isSynchronous whether commits of the primary wait for the standby */
export async function startCluster({ isSynchronous }: { isSynchronous: boolean }): Promise<Cluster> {
  const home = mkdtempSync(join(tmpdir(), 'compat-router-cluster-'))
  // The servers' user must be able to enter.
  chmodSync(home, 0o755)
  let made = 0
  const nextFolder = () => join(home, `server-${made++}`)
  let folder = nextFolder()
  let primary = await startPostgresServer(SETTINGS, folder)
  let standby:
    | { readonly server: PostgresServer; readonly folder: string; readonly wire: Address }
    | undefined
  const address = await startAddress(portOf(primary))

  const cluster: Cluster = {
    url: `postgres://postgres@127.0.0.1:${address.port}/postgres`,

    stallReplication() {
      standby?.wire.stall()
    },

    async failOver(downMs) {
      const promoted = standby!
      standby = undefined
      await primary.kill()
      address.moveTo(undefined)
      await promoted.wire.close()
      await ask(promoted.server, `select pg_promote(true, ${PROMOTION_S})`)
      rmSync(folder, { recursive: true })
      await delay(downMs)
      primary = promoted.server
      folder = promoted.folder
      address.moveTo(portOf(primary))
    },

    async addStandby() {
      const copy = nextFolder()
      const wire = await startAddress(portOf(primary))
      mkdirSync(copy)
      await copyData(primary, join(folder, 'data'), join(copy, 'data'))
      // The copy has the setting of the primary. A standby that is promoted waits for nobody, until it has a standby itself.
      appendFileSync(
        join(copy, 'data', 'postgresql.auto.conf'),
        `synchronous_standby_names = ''\nprimary_conninfo = 'host=127.0.0.1 port=${wire.port} user=postgres'\n`,
      )
      standby = { server: await startPostgresServer(SETTINGS, copy), folder: copy, wire }
      if (isSynchronous) {
        await ask(primary, "alter system set synchronous_standby_names = '*'")
        await ask(primary, 'select pg_reload_conf()')
      }
      const state = async () => {
        const [row] = await ask(primary, 'select state, sync_state from pg_stat_replication')
        return `${row?.state} ${row?.sync_state}`
      }
      await expect.poll(state).toBe(`streaming ${isSynchronous ? 'sync' : 'async'}`)
    },

    async stop() {
      await address.close()
      await standby?.wire.close()
      await standby?.server.kill()
      await primary.kill()
      rmSync(home, { recursive: true, force: true, maxRetries: 5 })
    },
  }
  try {
    await cluster.addStandby()
  } catch (error) {
    await cluster.stop()
    throw error
  }
  return cluster
}

function portOf(server: PostgresServer): number {
  return Number(new URL(server.url()).port)
}

async function ask(server: PostgresServer, text: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: server.url() })
  await client.connect()
  try {
    return (await client.query(text)).rows
  } finally {
    await client.end()
  }
}

/** Copies a running server for a standby, as `pg_basebackup` does, which the package of the servers lacks. */
async function copyData(server: PostgresServer, from: string, to: string): Promise<void> {
  const client = new pg.Client({ connectionString: server.url() })
  await client.connect()
  try {
    await client.query("select pg_backup_start('standby', true)")
    // Files may vanish meanwhile. What the standby lacks then is in the log that it streams.
    const copying = spawn('cp', ['-a', from, to], { stdio: 'ignore' })
    await once(copying, 'close')
    const { rows } = await client.query('select labelfile from pg_backup_stop(false)')
    for (const name of ['postmaster.pid', 'postmaster.opts']) rmSync(join(to, name), { force: true })
    const { uid, gid } = statSync(from)
    for (const [name, text] of [
      ['backup_label', rows[0].labelfile],
      ['standby.signal', ''],
    ]) {
      writeFileSync(join(to, name), text)
      chownSync(join(to, name), uid, gid)
    }
  } finally {
    await client.end()
  }
}
