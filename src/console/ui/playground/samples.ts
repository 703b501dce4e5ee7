import type { CallBody } from './call-body.js'

export type SampleKind = 'curl' | 'typescript' | 'python'

/** Fields that the clients' own types declare; other fields are passed separately. */
const KNOWN = new Set(['model', 'messages', 'stream', 'temperature', 'top_p', 'max_tokens', 'tools'])

/** Returns the same call for a shell or a program. The key comes from the environment; the sample only says which one it is. */
export function sampleOf(kind: SampleKind, baseUrl: string, body: CallBody, tokenName: string): string {
  const note = `COMPAT_API_KEY is ${tokenName.replace(/\s+/g, ' ')}`
  switch (kind) {
    case 'curl':
      return `# ${note}\n${curl(baseUrl, body)}`
    case 'typescript':
      return `// ${note}\n${typescript(baseUrl, body)}`
    case 'python':
      return `# ${note}\n${python(baseUrl, body)}`
  }
}

function curl(baseUrl: string, body: CallBody): string {
  const json = JSON.stringify(body, undefined, 2).replaceAll("'", "'\\''")
  return `curl ${body.stream === true ? '-N ' : ''}\\
  ${baseUrl}/chat/completions \\
  -H "authorization: Bearer $COMPAT_API_KEY" \\
  -H 'content-type: application/json' \\
  -d '${json}'
`
}

function typescript(baseUrl: string, body: CallBody): string {
  const [known, own] = parted(body)
  const members = Object.entries(known).map(
    ([name, value]) => `  ${name}: ${indented(JSON.stringify(value, undefined, 2))},`,
  )
  if (Object.keys(own).length > 0)
    members.push(`  ...(${indented(JSON.stringify(own, undefined, 2))} as object),`)
  const call = `await client.chat.completions.create({\n${members.join('\n')}\n})`
  return `import OpenAI from 'openai'

const client = new OpenAI({ baseURL: '${baseUrl}', apiKey: process.env.COMPAT_API_KEY })

${
  body.stream === true
    ? `const stream = ${call}
for await (const chunk of stream) {
  process.stdout.write(chunk.choices[0]?.delta.content ?? '')
  if (chunk.usage) console.log('\\ncost', (chunk.usage as { cost?: number }).cost)
}`
    : `const completion = ${call}
console.log(completion.choices[0]?.message.content)
console.log('cost', (completion.usage as { cost?: number }).cost)`
}
`
}

function python(baseUrl: string, body: CallBody): string {
  const [known, own] = parted(body)
  const members = Object.entries(known).map(
    ([name, value]) => `    ${name}=${indented(pythonOf(value), '    ')},`,
  )
  if (Object.keys(own).length > 0) members.push(`    extra_body=${indented(pythonOf(own), '    ')},`)
  const call = `client.chat.completions.create(\n${members.join('\n')}\n)`
  return `import os

from openai import OpenAI

client = OpenAI(base_url="${baseUrl}", api_key=os.environ["COMPAT_API_KEY"])

${
  body.stream === true
    ? `stream = ${call}
for chunk in stream:
    if chunk.choices:
        print(chunk.choices[0].delta.content or "", end="", flush=True)
    if chunk.usage:
        print("\\ncost", chunk.usage.cost)`
    : `completion = ${call}
print(completion.choices[0].message.content)
print("cost", completion.usage.cost)`
}
`
}

function parted(body: CallBody): [known: CallBody, own: CallBody] {
  const entries = Object.entries(body)
  return [
    Object.fromEntries(entries.filter(([name]) => KNOWN.has(name))),
    Object.fromEntries(entries.filter(([name]) => !KNOWN.has(name))),
  ]
}

const indented = (text: string, by = '  '): string => text.replaceAll('\n', `\n${by}`)

/** JSON's strings and numbers are also valid in Python; its three keywords are not. */
function pythonOf(value: unknown, margin = ''): string {
  const inner = `${margin}    `
  if (value === null || value === undefined) return 'None'
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  if (Array.isArray(value)) {
    if (value.length === 0) return '[]'
    return `[\n${value.map((item) => `${inner}${pythonOf(item, inner)},`).join('\n')}\n${margin}]`
  }
  if (typeof value === 'object') {
    const members = Object.entries(value)
    if (members.length === 0) return '{}'
    return `{\n${members.map(([name, item]) => `${inner}${JSON.stringify(name)}: ${pythonOf(item, inner)},`).join('\n')}\n${margin}}`
  }
  return JSON.stringify(value)
}
