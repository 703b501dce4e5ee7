import { relative } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** The files that take longest, the longest first, so that none of them starts last. */
const LONGEST: readonly string[] = [
  'test/faults/faults.test.ts',
  'test/console/browser/accessibility.test.ts',
  'test/callers/callers.test.ts',
  'test/mutations/mutations.test.ts',
  'test/code-blocks.test.ts',
  'test/examples/server-process.test.ts',
  'test/sqlite/ledger-conformance.test.ts',
  'test/postgres/ledger-conformance.test.ts',
  'test/simulation/simulation.test.ts',
  'test/limits/proof.test.ts',
  'test/wire/fast-paths.test.ts',
  'test/cli/missing-file.test.ts',
  'test/connect/terms.test.ts',
  'test/console/browser/sign-in.test.ts',
  'test/console/browser/guidance.test.ts',
  'test/envelope/browser.test.ts',
  'test/console/browser/connected-apps.test.ts',
  'test/sql/calls.test.ts',
  'test/idempotency/proof.test.ts',
  'test/admin/verify.test.ts',
  'test/sql/processes.test.ts',
  'test/wire/conversations.test.ts',
  'test/examples/metrics.test.ts',
  'test/console/browser/stopped-calls.test.ts',
  'test/console/browser/safety.test.ts',
  'test/console/browser/figures.test.ts',
  'test/console/browser/operator.test.ts',
  'test/cli/cli.test.ts',
  'test/postgres/failures.test.ts',
  'test/admin/apps.test.ts',
  'test/console/browser/replies.test.ts',
  'test/console/browser/talking.test.ts',
  'test/operations/messages-recordings.test.ts',
  'test/admin/connected-apps.test.ts',
  'test/examples/server-database.test.ts',
  'test/console/requests.test.ts',
  'test/sql/ledger.test.ts',
  'test/console/browser/changes.test.ts',
  'test/examples/hosts.test.ts',
  'test/connect/browser-flow.test.ts',
  'test/sql/connect-kill.test.ts',
  'test/examples/saas.test.ts',
  'test/connect/browser.test.ts',
  'test/envelope/fuzz.test.ts',
  'test/postgres/earnings.test.ts',
  'test/sql/conformance.test.ts',
  'test/wire/large-bodies.test.ts',
  'test/postgres/kill.test.ts',
  'test/console/browser/long-names.test.ts',
  'test/operations/responses-recordings.test.ts',
  'test/console/samples.test.ts',
  'test/examples/server.test.ts',
  'test/console/heap.test.ts',
  'test/console/browser/limits.test.ts',
  'test/wire/hostile.test.ts',
  'test/console/paging.test.ts',
  'test/admin/sessions.test.ts',
  'test/sql/registry.test.ts',
  'test/examples/connect.test.ts',
  'test/conformance/embeddings-adapters.test.ts',
  'test/conformance/broken-watches.test.ts',
  'test/conformance/broken-ledgers.test.ts',
  'test/postgres/limits.test.ts',
  'test/sql/many-calls.test.ts',
]

/** First the files that need a process of their own: between others, each would end the process that those share. */
export default class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const placed = files.map((file) => {
      const path = relative(this.ctx.config.root, file.moduleId).replaceAll('\\', '/')
      const index = LONGEST.indexOf(path)
      return {
        file,
        kind: file.project.config.isolate ? 0 : 1,
        index: index === -1 ? LONGEST.length : index,
        path,
      }
    })
    placed.sort((a, b) => a.kind - b.kind || a.index - b.index || (a.path < b.path ? -1 : 1))
    return placed.map(({ file }) => file)
  }
}
