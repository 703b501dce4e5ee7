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

/** Tests the declarations of a whole build, which `npm test` does without. */
const DECLARATIONS: readonly string[] = ['api', 'package', 'value-exports'].map(
  (name) => `test/package/${name}.test.ts`,
)

/** All test files, by what they need: to be alone in a process, the declarations of the package, or nothing. */
export function kindsOfFiles(): {
  readonly alone: string[]
  readonly together: string[]
  readonly package: string[]
} {
  const root = fileURLToPath(new URL('../..', import.meta.url))
  const files = readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
    .map((name) => `test/${name.replaceAll('\\', '/')}`)
    .filter((name) => name.endsWith('.test.ts') && !DECLARATIONS.includes(name))
  const needsProcess = (name: string) =>
    OTHERS.includes(name) || SHARES_NO_PROCESS.test(readFileSync(join(root, name), 'utf8'))
  return {
    alone: files.filter(needsProcess),
    together: files.filter((name) => !needsProcess(name)),
    package: [...DECLARATIONS],
  }
}
