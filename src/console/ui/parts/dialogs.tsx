import type { ComponentChildren } from 'preact'
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { asProblem, type Problem } from '../base/problem.js'
import { Button, CopyButton } from './basics.js'
import { Field, type FieldSpec } from './fields.js'
import { Notice } from './notice.js'

interface DialogProps {
  readonly title: string
  readonly onClose: () => void
  /** Escape does not close it, because its content is not shown again or is not yet known. */
  readonly isSticky?: boolean
  readonly children: ComponentChildren
}

/** Keeps the focus while it is open, then returns it. */
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
        // If Escape is pressed several times, browsers let only the first one be prevented and close the dialog themselves.
        if (currentTarget.isConnected) currentTarget.showModal()
      }}
    >
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  )
}

/** The values of a form when it was submitted. */
export interface Values {
  /** Trimmed; undefined if empty. */
  text(name: string): string | undefined
  all(name: string): readonly string[]
  /** Undefined if no file was chosen. */
  file(name: string): File | undefined
}

interface FormDialogProps {
  readonly title: string
  /** Explains what will happen. */
  readonly intro?: ComponentChildren
  readonly fields: readonly FieldSpec[]
  /** The label of the button. */
  readonly action: string
  readonly isDestructive?: boolean
  readonly onSubmit: (values: Values) => Promise<unknown>
  readonly onClose: () => void
}

/** Every form of the console. It stays open and shows the problem until its action succeeds. */
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
    const target = named === undefined ? notice.current : document.getElementById(`${formId}-${named.name}`)
    target?.focus()
    target?.scrollIntoView({ block: 'center' })
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
    file: (name) => {
      const file = data.get(name)
      return file instanceof File && file.size > 0 ? file : undefined
    },
    text: (name) => {
      const text = all(name)[0]?.trim()
      return text === '' ? undefined : text
    },
  }
}

/** Asks before an action that cannot be undone, or that blocks somebody. */
export function ConfirmDialog(props: Omit<FormDialogProps, 'fields' | 'isDestructive'>) {
  return <FormDialog {...props} fields={[]} isDestructive />
}

/** Shows a token, once. */
export function SecretDialog(props: Omit<DialogProps, 'isSticky'> & { token: string }) {
  return (
    <Dialog title={props.title} onClose={props.onClose} isSticky>
      <Notice title="Copy it now: it is not shown again." tone="warn">
        Only its digest is stored. Anyone who has it can spend the account's credits. Keep it with your
        secrets, never in a page or a repository.
      </Notice>
      <div class="secret">
        <code data-secret>{props.token}</code>
        <CopyButton text={props.token} what="token" />
      </div>
      {props.children}
      <div class="actions">
        <Button tone="primary" onPress={props.onClose}>
          I have saved it
        </Button>
      </div>
    </Dialog>
  )
}
