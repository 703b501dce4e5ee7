import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * What a test file does to all others in its process, or what they would do to it. A spy on stores, which the file has for
 * itself, and a script for a page, which has a `globalThis` of its own, do nothing to them.
 */
const SHARES_NO_PROCESS =
  /\bvi\.(?:mock|doMock|stubEnv|stubGlobal|useFakeTimers)\(|\bvi\.spyOn\((?!(?:\w+\.)*stores\.)|\bprocess\.(?:on|once|chdir|cpuUsage|memoryUsage)\(|^ *globalThis\.\w+ =/m

/** Other files that need a process of their own, each with its reason. */
const OTHERS: readonly string[] = [
  // Prints a promise. Once a file of the process has used AsyncLocalStorage, promises have more members on Node 20.
  'test/conformance/wrong-answers.test.ts',
]

/** Files that test a whole build or the packed tarball. `npm test` makes neither. */
const PACKAGE: readonly string[] = ['api', 'examples', 'package', 'paste', 'value-exports'].map(
  (name) => `test/package/${name}.test.ts`,
)

/** Folders with packages of their own, which `npm test` does not install, and one that needs PgBouncer. */
const OWN_COMMANDS: readonly string[] = ['agents', 'failover', 'frameworks']

/** What a test file does that looks at pages in a browser. */
const BROWSER = /\b(?:openBrowser|connectToChromium)\(/

/**
 * All test files, by what they need: to be alone in a process, a browser, the whole build, or nothing. A file
 * that needs to be alone has no use for the process that files with a browser share.
 */
export function kindsOfFiles(): {
  readonly alone: string[]
  readonly browser: string[]
  readonly together: string[]
  readonly package: string[]
} {
  const root = fileURLToPath(new URL('../..', import.meta.url))
  const kinds = { alone: [] as string[], browser: [] as string[], together: [] as string[] }
  for (const name of testFiles(root)) {
    if (!PACKAGE.includes(name)) kinds[kindOf(name, readFileSync(join(root, name), 'utf8'))].push(name)
  }
  return { ...kinds, package: [...PACKAGE] }
}

function testFiles(root: string): string[] {
  const inside = readdirSync(join(root, 'test')).filter((name) => !OWN_COMMANDS.includes(name))
  return inside.flatMap((name) => {
    if (name.endsWith('.test.ts')) return [`test/${name}`]
    if (name.includes('.')) return []
    const found = readdirSync(join(root, 'test', name), { recursive: true, encoding: 'utf8' })
    return found
      .filter((file) => file.endsWith('.test.ts'))
      .map((file) => `test/${name}/${file.replaceAll('\\', '/')}`)
  })
}

function kindOf(name: string, text: string): 'alone' | 'browser' | 'together' {
  if (OTHERS.includes(name) || SHARES_NO_PROCESS.test(text)) return 'alone'
  return name.startsWith('test/console/browser/') || BROWSER.test(text) ? 'browser' : 'together'
}
