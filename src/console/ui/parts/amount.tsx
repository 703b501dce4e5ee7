/** With commas between the thousands of its whole part, as counts have them. */
function grouped(value: string): string {
  const [whole = '', ...fraction] = value.split('.')
  return [whole.replace(/\B(?=(\d{3})+$)/g, ','), ...fraction].join('.')
}

/**
 * An exact decimal as the server sent it: no digit is dropped or rounded. What stands before the first digit that counts
 * is dimmed, so that small amounts can be compared.
 */
export function Amount({ value, unit }: { value: string; unit?: boolean }) {
  const idle = /^-?0\.0*(?=\d)/.exec(value)?.[0] ?? ''
  return (
    <span class="amount">
      {idle !== '' && <span class="amount-idle">{idle}</span>}
      {idle === '' ? grouped(value) : value.slice(idle.length)}
      {unit && <span class="amount-unit"> credits</span>}
    </span>
  )
}
