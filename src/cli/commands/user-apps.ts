import { Argument } from 'commander'
import { formatTime } from '../context/output.js'
import { readPages } from '../context/pages.js'
import { parseTime } from '../context/parse.js'
import type { Noun } from './noun.js'

export const userApps: Noun = {
  about: 'apps that users register themselves, and the reviews of their changes',
  verbs: {
    'list-reviews': (command, context) =>
      command.description('list what waits for review').action(async () => {
        const reader = await context.reader()
        const rows = await readPages(
          (page) => reader.userApps.listReviews(page),
          ({ appId }) => appId,
        )
        context.show(
          rows,
          rows.map(({ appId, by, at, values }) => ({
            app: appId,
            by,
            at: formatTime(at),
            values: JSON.stringify(values),
          })),
          'nothing waits for review',
        )
      }),

    'decide-review <app>': (command, context) =>
      command
        .description('accept a review, which puts its values in force, or reject it, which drops them')
        .argument(
          '<at>',
          'the time of the review that you have seen, as user-apps list-reviews shows it',
          parseTime,
        )
        .addArgument(new Argument('<decision>').choices(['accept', 'reject']))
        .action(async (id: string, at: number, decision: 'accept' | 'reject') => {
          const admin = await context.admin()
          const [asked] = await admin.userApps.listReviews({ appIds: [id] })
          if (asked === undefined) throw new Error(`Nothing of the app ${id} waits for review`)
          await admin.userApps.decideReview({ ...asked, at }, decision)
          context.show(asked, [{ app: id, [`${decision}ed`]: JSON.stringify(asked.values) }])
        }),
  },
}
