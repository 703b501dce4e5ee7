import type { ComponentChildren } from 'preact'
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { asProblem, type Problem } from '../base/problem.js'
import { Button, CopyButton } from './basics.js'
import { Field, type FieldSpec } from './fields.js'
import { Notice } from './notice.js'

interface DialogProps {
  readonly title: string
  readonly onClose: () => void
  /** Cannot be left by Escape: what is in it is not shown again, or not yet known. */
  readonly isSticky?: boolean
  readonly children: ComponentChildren
}

/** Keeps the focus while it is open and gives it back. */
export function Dialog({ title, onClose, isSticky, children }: DialogProps) {
  const id = useId()
  const element = useRef<HTMLDialogElement>(null)
  useLayoutEffect(() => {
    const dialog = element.current
    dialog?.showModal()
    return () => dialog?.close()
  }, [])
  return (
    <dialog
      ref={element}
      class="dialog"
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault()
        if (isSticky !== true) onClose()
      }}
      onClose={({ currentTarget }) => {
        // Of several presses of Escape in a row browsers let only the first be prevented, and close the dialog by themselves.
        if (currentTarget.isConnected) currentTarget.showModal()
      }}
    >
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  )
}

/** What a form held when it was sent. */
export interface Values {
  /** Trimmed; undefined if nothing was written. */
  text(name: string): string | undefined
  all(name: string): readonly string[]
}

interface FormDialogProps {
  readonly title: string
  /** What will happen. */
  readonly intro?: ComponentChildren
  readonly fields: readonly FieldSpec[]
  /** What the button says. */
  readonly action: string
  readonly isDestructive?: boolean
  readonly onSubmit: (values: Values) => Promise<unknown>
  readonly onClose: () => void
}

/** Every form of the console. It stays open, and says what is wrong, until its action succeeded. */
export function FormDialog(props: FormDialogProps) {
  const { title, intro, fields, action, isDestructive, onSubmit, onClose } = props
  const formId = useId()
  const form = useRef<HTMLFormElement>(null)
  const notice = useRef<HTMLDivElement>(null)
  const [isBusy, setBusy] = useState(false)
  const [problem, setProblem] = useState<Problem>()
  const named = fields.find(({ name }) => problem?.field === name || problem?.field?.startsWith(`${name}.`))

  const submit = async (): Promise<void> => {
    setBusy(true)
    setProblem(undefined)
    try {
      await onSubmit(valuesOf(new FormData(form.current!)))
    } catch (caught) {
      setProblem(asProblem(caught))
      setBusy(false)
    }
  }
  useLayoutEffect(() => {
    if (problem === undefined) return
    const place = named === undefined ? notice.current : document.getElementById(`${formId}-${named.name}`)
    place?.focus()
    place?.scrollIntoView({ block: 'center' })
  }, [problem, named, formId])

  return (
    <Dialog title={title} onClose={onClose} isSticky={isBusy}>
      {intro !== undefined && <div class="intro">{intro}</div>}
      <form
        ref={form}
        onSubmit={(event) => {
          event.preventDefault()
          void submit()
        }}
      >
        {fields.map((spec) => (
          <Field
            key={spec.name}
            spec={spec}
            formId={formId}
            complaint={spec === named ? problem?.message : undefined}
          />
        ))}
        {problem !== undefined && named === undefined && (
          <div ref={notice} tabIndex={-1}>
            <Notice title={problem.message} tone="bad" />
          </div>
        )}
        <div class="actions">
          <Button onPress={onClose} isDisabled={isBusy}>
            Cancel
          </Button>
          <button
            type="submit"
            class={`button ${isDestructive === true ? 'danger' : 'primary'}`}
            disabled={isBusy}
          >
            {isBusy ? 'Working …' : action}
          </button>
        </div>
      </form>
    </Dialog>
  )
}

function valuesOf(data: FormData): Values {
  const all = (name: string): readonly string[] =>
    data.getAll(name).filter((value): value is string => typeof value === 'string')
  return {
    all,
    text: (name) => {
      const text = all(name)[0]?.trim()
      return text === '' ? undefined : text
    },
  }
}

/** Asks before something that cannot be taken back, or that stops somebody. */
export function ConfirmDialog(props: Omit<FormDialogProps, 'fields' | 'isDestructive'>) {
  return <FormDialog {...props} fields={[]} isDestructive />
}

/** A token that is shown this once. */
export function SecretDialog(props: {
  title: string
  token: string
  children?: ComponentChildren
  onClose: () => void
}) {
  return (
    <Dialog title={props.title} onClose={props.onClose} isSticky>
      <Notice title="Copy it now: it is not shown again." tone="warn">
        Only its digest is kept. Whoever has it can spend the account's credits: put it where secrets are
        kept, never into a page or a repository.
      </Notice>
      <div class="secret">
        <code data-secret>{props.token}</code>
        <CopyButton text={props.token} what="token" />
      </div>
      {props.children}
      <div class="actions">
        <Button tone="primary" onPress={props.onClose}>
          I have kept it
        </Button>
      </div>
    </Dialog>
  )
}
