import type { ComponentChildren } from 'preact'
import type { IssuedReply } from '../../protocol.js'
import { asProblem } from '../base/problem.js'
import { useSession } from '../base/session.js'
import { Time } from './basics.js'
import { ConfirmDialog, FormDialog, SecretDialog, type Values } from './dialogs.js'
import type { FieldSpec } from './fields.js'

interface Action {
  readonly title: string
  readonly intro?: ComponentChildren
  /** The label of the button. */
  readonly action: string
  /** Performs the action and returns the announcement. */
  readonly run: (values: Values) => Promise<string>
}

interface Confirmed<Reply> extends Omit<Action, 'run'> {
  readonly run: () => Promise<Reply>
  readonly done: (reply: Reply) => string
}

/** Asks, performs the action, announces it, and reloads the data of the page. */
export function useActions(reload: () => void) {
  const { open, announce } = useSession()
  /** Somebody else was faster, so the next form must start from the current data. */
  const reloadIfStale = (caught: unknown): never => {
    if (asProblem(caught).status === 409) reload()
    throw caught
  }
  const props = ({ title, intro, action, run }: Action, close: () => void) => ({
    title,
    intro,
    action,
    onClose: close,
    onSubmit: async (values: Values) => {
      const message = await run(values).catch(reloadIfStale)
      close()
      announce(message)
      reload()
    },
  })
  return {
    /** Shows a form. */
    form: (action: Action & { readonly fields: readonly FieldSpec[] }): void =>
      open((close) => <FormDialog {...props(action, close)} fields={action.fields} />),
    /** Explains what will happen, and asks. `done` makes the announcement. */
    confirm: <Reply,>({ run, done, ...action }: Confirmed<Reply>): void =>
      open((close) => <ConfirmDialog {...props({ ...action, run: async () => done(await run()) }, close)} />),
    /** Shows a form, and then the token that was issued. */
    issue(
      action: Omit<Action, 'run'> & {
        readonly fields: readonly FieldSpec[]
        readonly shown: string
        readonly run: (values: Values) => Promise<IssuedReply>
      },
    ): void {
      open((close) => (
        <FormDialog
          {...props({ ...action, run: async () => '' }, close)}
          fields={action.fields}
          onSubmit={async (values) => {
            const issued = await action.run(values).catch(reloadIfStale)
            reload()
            open((closeSecret) => (
              <SecretDialog title={action.shown} token={issued.token} onClose={closeSecret}>
                {issued.expiresAt !== undefined && (
                  <p>
                    It expires at <Time at={issued.expiresAt} />.
                  </p>
                )}
              </SecretDialog>
            ))
          }}
        />
      ))
    },
  }
}
