// Replaces curl in the code blocks of the documents. Supports only the flags that they use.
const flags = { method: undefined, headers: new Headers(), body: undefined, url: undefined }
const words = process.argv.slice(2)
while (words.length > 0) {
  const word = words.shift()
  if (word === '-N' || word === '-s') continue
  if (word === '-X') flags.method = words.shift()
  else if (word === '-d') flags.body = words.shift()
  else if (word === '-H') {
    const [, name, value] = /^([^:]+):\s*(.*)$/.exec(words.shift())
    flags.headers.set(name, value)
  } else if (word.startsWith('-') || flags.url !== undefined)
    throw new Error(`curl stand-in: unsupported argument ${word}`)
  else flags.url = word
}
const method = flags.method ?? (flags.body === undefined ? 'GET' : 'POST')
const response = await fetch(flags.url, { method, headers: flags.headers, body: flags.body })
process.stdout.write(await response.text())
