import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { cp, mkdir, readFile, rename, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { say } from './arguments.js'

/** The packed build, with a manifest and a lock file that holds its checksum. `test/bench/baseline/pack` makes them. */
const PACKED = resolve('test/bench/baseline')
const INSTALLED = resolve('test/bench/.baseline')
const DIST = 'node_modules/compat-router/dist'
const INSTALL_PATIENCE_MS = 240_000

export interface Baseline {
  readonly commit: string
  /** The folder of the built package. */
  readonly dist: string
}

/** Installs the earlier build that today's is compared with, once for all runs. */
export async function installBaseline(): Promise<Baseline> {
  const manifest = JSON.parse(await readFile(join(PACKED, 'package.json'), 'utf8'))
  const file: string = manifest.dependencies['compat-router'].slice('file:'.length)
  const commit = /-(\w+)\.tgz$/.exec(file)![1]!
  const lock = await readFile(join(PACKED, 'package-lock.json'))
  const folder = join(INSTALLED, createHash('sha256').update(lock).digest('hex').slice(0, 16))
  const dist = join(folder, DIST)
  if (existsSync(dist)) return { commit, dist }
  say(`installing the build of ${commit} into ${folder}`)
  const unfinished = `${folder}.${process.pid}`
  await mkdir(unfinished, { recursive: true })
  for (const name of ['package.json', 'package-lock.json', file]) {
    await cp(join(PACKED, name), join(unfinished, name))
  }
  await promisify(execFile)(
    'npm',
    ['ci', '--no-audit', '--no-fund', '--ignore-scripts', '--prefer-offline'],
    {
      cwd: unfinished,
      timeout: INSTALL_PATIENCE_MS,
    },
  )
  await rm(folder, { recursive: true, force: true })
  await rename(unfinished, folder)
  return { commit, dist }
}
