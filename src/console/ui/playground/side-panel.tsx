import { useState } from 'preact/hooks'
import { asProblem, type Problem } from '../base/problem.js'
import { Choice, CopyButton } from '../parts/basics.js'
import { Field, type FieldSpec } from '../parts/fields.js'
import { Notice } from '../parts/notice.js'
import type { CallBody, Parameters } from './call-body.js'
import type { SampleApi } from './sample-bodies.js'
import { type SampleKind, sampleOf } from './samples.js'

const SPECS: readonly (FieldSpec & { readonly name: Exclude<keyof Parameters, 'stream'> })[] = [
  { name: 'system', label: 'System prompt', kind: 'area' },
  { name: 'temperature', label: 'Temperature', placeholder: "the model's default" },
  { name: 'top_p', label: 'Top p', placeholder: "the model's default" },
  {
    name: 'max_tokens',
    label: 'Max tokens',
    placeholder: 'no limit',
    hint: 'Limits the reply and the hold.',
  },
  {
    name: 'session_id',
    label: 'Session',
    hint: 'Keeps a conversation on one route. Stored with the charge.',
  },
  { name: 'tools', label: 'Tools, as JSON', kind: 'area', placeholder: '[{ "type": "function", … }]' },
  { name: 'more', label: 'Further fields, as JSON', kind: 'area', placeholder: '{ "seed": 7 }' },
]

type View = 'parameters' | 'frames' | SampleKind

const VIEWS: readonly { readonly value: View; readonly label: string }[] = [
  { value: 'parameters', label: 'Parameters' },
  { value: 'frames', label: 'Frames' },
  { value: 'curl', label: 'curl' },
  { value: 'typescript', label: 'TypeScript' },
  { value: 'python', label: 'Python' },
]

const APIS: readonly { readonly value: SampleApi; readonly label: string }[] = [
  { value: 'chat', label: 'Chat completions' },
  { value: 'responses', label: 'Responses' },
  { value: 'messages', label: 'Messages' },
]

interface SidePanelProps {
  readonly parameters: Parameters
  onChange(parameters: Parameters): void
  readonly complaint: Problem | undefined
  readonly frames: readonly string[]
  readonly baseUrl: string
  /** The key that the samples need. */
  readonly tokenName: string
  /** Returns the request as it would be sent now. Throws a {@link Problem}. */
  readonly bodyOf: () => CallBody
}

/** Shown beside the conversation: the parameters of the call, the frames of the reply, and the call as code. */
export function SidePanel(props: SidePanelProps) {
  const [view, setView] = useState<View>('parameters')
  const [api, setApi] = useState<SampleApi>('chat')
  return (
    <section class="side-panel" aria-label="Parameters and code">
      <Choice<View> label="Show beside the conversation" options={VIEWS} value={view} onChange={setView} />
      {view === 'parameters' && <ParameterFields {...props} />}
      {view === 'frames' && <Frames frames={props.frames} />}
      {view !== 'parameters' && view !== 'frames' && (
        <>
          <Choice<SampleApi> label="The API of the code" options={APIS} value={api} onChange={setApi} />
          <Sample kind={view} api={api} {...props} />
        </>
      )}
    </section>
  )
}

function ParameterFields({ parameters, onChange, complaint }: SidePanelProps) {
  return (
    <div>
      <label class="check">
        <input
          type="checkbox"
          checked={parameters.stream}
          onChange={(event) => onChange({ ...parameters, stream: event.currentTarget.checked })}
        />{' '}
        Stream the reply
      </label>
      {SPECS.map((spec) => (
        <Field
          key={spec.name}
          spec={{ ...spec, value: parameters[spec.name] }}
          formId="parameter"
          complaint={complaint?.field === spec.name ? complaint.message : undefined}
          onInput={(value) => onChange({ ...parameters, [spec.name]: value })}
        />
      ))}
    </div>
  )
}

function Frames({ frames }: { frames: readonly string[] }) {
  if (frames.length === 0)
    return <p class="hint">Send a message. The reply of the router appears here as it arrived.</p>
  const text = frames.join('\n\n')
  return (
    <div class="sample">
      <CopyButton text={text} what="frames" />
      <CodeArea name="Frames of the last reply" text={text} />
    </div>
  )
}

function Sample(props: SidePanelProps & { kind: SampleKind; api: SampleApi }) {
  const { api, baseUrl, bodyOf, kind, tokenName } = props
  let text: string
  try {
    text = sampleOf(kind, api, baseUrl, bodyOf(), tokenName)
  } catch (caught) {
    const problem = asProblem(caught)
    return (
      <Notice title={`Correct the parameter ${problem.field ?? ''} first: ${problem.message}`} tone="warn" />
    )
  }
  return (
    <div class="sample">
      <CopyButton text={text} what="code" />
      <CodeArea name={`The call as ${kind}`} text={text} />
      <p class="hint">
        Put {tokenName} into <code>COMPAT_API_KEY</code>. <a href="#/keys">Make one under Keys.</a>
      </p>
    </div>
  )
}

const MAX_ROWS = 28

/** Can be scrolled and selected by keyboard alone. */
function CodeArea({ name, text }: { name: string; text: string }) {
  const rows = Math.min(text.split('\n').length + 1, MAX_ROWS)
  return <textarea class="code" aria-label={name} readOnly rows={rows} value={text} spellcheck={false} />
}
