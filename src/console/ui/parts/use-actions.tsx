import type { ComponentChildren } from 'preact'
import type { IssuedReply } from '../../protocol/index.js'
import { asProblem } from '../base/problem.js'
import { useSession } from '../base/session.js'
import { Time } from './basics.js'
import { ConfirmDialog, FormDialog, SecretDialog, type Values } from './dialogs.js'
import type { FieldSpec } from './fields.js'

interface Action {
  readonly title: string
  readonly intro?: ComponentChildren
  /** What the button says. */
  readonly action: string
  /** Does it, and says what was done. */
  readonly run: (values: Values) => Promise<string>
}

/** Asks, does it, says that it was done, and has the page load again what it shows. */
export function useActions(reload: () => void) {
  const { open, announce } = useSession()
  /** Somebody else was faster: what is opened next must be what is there now. */
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
    /** Fills in a form. */
    form: (action: Action & { readonly fields: readonly FieldSpec[] }): void =>
      open((close) => <FormDialog {...props(action, close)} fields={action.fields} />),
    /** Says what will happen, and asks. */
    confirm: (action: Action): void => open((close) => <ConfirmDialog {...props(action, close)} />),
    /** Fills in a form, and shows the token that comes of it. */
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
                    It ends at <Time at={issued.expiresAt} />.
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
