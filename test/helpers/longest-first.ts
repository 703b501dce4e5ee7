import { relative } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** The files that take longest, the longest first, so that none of them starts last. */
const LONGEST: readonly string[] = [
  'test/console/browser/accessibility.test.ts',
  'test/sql/calls.test.ts',
  'test/sqlite/ledger-conformance.test.ts',
  'test/code-blocks.test.ts',
  'test/console/browser/guidance.test.ts',
  'test/faults/faults.test.ts',
  'test/connect/terms.test.ts',
  'test/examples/server-database.test.ts',
  'test/examples/server-process.test.ts',
  'test/console/browser/stopped-calls.test.ts',
  'test/console/browser/figures.test.ts',
  'test/wire/recorded-streams.test.ts',
  'test/sql/refunds.test.ts',
  'test/sql/account-totals.test.ts',
  'test/console/browser/changes.test.ts',
  'test/sql/connect-kill.test.ts',
  'test/console/browser/operator.test.ts',
  'test/conformance/broken-watches.test.ts',
  'test/conformance/embeddings-adapters.test.ts',
  'test/operations/responses-recordings.test.ts',
  'test/sql/processes.test.ts',
  'test/cli/cli.test.ts',
  'test/wire/fast-paths.test.ts',
  'test/limits/proof.test.ts',
  'test/console/browser/connected-apps.test.ts',
  'test/console/browser/long-names.test.ts',
  'test/examples/saas.test.ts',
  'test/postgres/failures.test.ts',
  'test/postgres/kill.test.ts',
  'test/postgres/earnings.test.ts',
  'test/console/browser/safety.test.ts',
  'test/cli/missing-file.test.ts',
  'test/sqlite/kill.test.ts',
  'test/sql/conformance.test.ts',
  'test/exactness/exactness.test.ts',
  'test/console/browser/sign-in.test.ts',
  'test/console/browser/replies.test.ts',
  'test/console/browser/talking.test.ts',
  'test/connect/browser.test.ts',
  'test/sql/many-calls.test.ts',
  'test/sql/migrations.test.ts',
  'test/operations/embeddings.test.ts',
  'test/console/browser/limits.test.ts',
  'test/demo/demo.test.ts',
  'test/admin/connected-apps.test.ts',
  'test/connect/browser-flow.test.ts',
  'test/limits/clocks.test.ts',
  'test/envelope/fuzz.test.ts',
  'test/admin/apps.test.ts',
  'test/conversations/conversations.test.ts',
  'test/wire/conversations.test.ts',
  'test/examples/connect.test.ts',
  'test/simulation/simulation.test.ts',
  'test/admin/verify.test.ts',
  'test/console/browser/many-apps.test.ts',
  'test/console/browser/first-minutes.test.ts',
  'test/sql/reply-totals.test.ts',
  'test/routing/byok.test.ts',
  'test/wire/backpressure.test.ts',
  'test/operations/look-ups-durable.test.ts',
  'test/console/samples.test.ts',
  'test/console/paging.test.ts',
  'test/postgres/ledger-conformance.test.ts',
  'test/engine/prompt-templates.test.ts',
  'test/idempotency/proof.test.ts',
  'test/bench/growth-of-time.test.ts',
  'test/wire/hostile.test.ts',
  'test/conformance/broken-ledgers.test.ts',
  'test/sql/ledger.test.ts',
  'test/operations/responses-clients.test.ts',
  'test/console/requests.test.ts',
  'test/examples/hosts.test.ts',
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
