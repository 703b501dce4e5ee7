import { execFile } from 'node:child_process'
import { cp, mkdir, readFile, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import type { TestProject } from 'vitest/node'

declare module 'vitest' {
  interface ProvidedContext {
    /** The environment of the frameworks' programs, in which `node` is one that all of them support. */
    env: Readonly<Record<string, string>>
  }
}

const run = promisify(execFile)
const ROOT = join(import.meta.dirname, '..', '..')
const MODULES = join(import.meta.dirname, 'node_modules')
/** What most of the frameworks need. */
const NODE = 24

/** Installs the frameworks if their lockfile has changed since, and the package as it was built last. */
export default async function install(project: TestProject): Promise<void> {
  const { stdout } = await run('npx', [
    ...['--yes', '--package', `node@${NODE}`],
    ...['-c', 'node -p process.execPath'],
  ])
  const env = { ...inherited(), PATH: `${dirname(stdout.trim())}:${process.env.PATH}` }
  const changedAt = async (file: string) =>
    (await stat(join(import.meta.dirname, file)).catch(() => undefined))?.mtimeMs ?? 0
  if ((await changedAt('node_modules/.package-lock.json')) < (await changedAt('package-lock.json'))) {
    const here = { cwd: import.meta.dirname, env }
    await run('npm', ['ci', '--ignore-scripts'], here)
    await run('npm', ['rebuild', 'bun', 'deno', 'workerd'], here)
  }
  await installPackage()
  project.provide('env', env)
}

/** Lays the package into the frameworks' `node_modules`, with its dependencies, as npm does with a packed one. */
async function installPackage(): Promise<void> {
  const target = join(MODULES, 'compat-router')
  await rm(target, { recursive: true, force: true })
  await mkdir(target)
  await cp(join(ROOT, 'package.json'), join(target, 'package.json'))
  await cp(join(ROOT, 'dist'), join(target, 'dist'), { recursive: true })
  const { dependencies } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'))
  for (const name of Object.keys(dependencies)) {
    await cp(join(ROOT, 'node_modules', name), join(target, 'node_modules', name), { recursive: true })
  }
}

/** Without the variables by which a test runner tells a framework that it is tested. */
function inherited(): Record<string, string> {
  const hidden = /^(?:VITEST|NODE_ENV|TEST$|NODE_OPTIONS|VITE_)/
  return Object.fromEntries(
    Object.entries(process.env).filter(
      (entry): entry is [string, string] => entry[1] !== undefined && !hidden.test(entry[0]),
    ),
  )
}
