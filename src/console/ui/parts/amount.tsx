/**
 * An exact decimal as the server sent it: no digit is dropped or rounded. Leading zeros are dimmed, so that small amounts
 * can be compared. The commas between thousands are drawn by CSS, so copied text has none.
 */
export function Amount({ value, unit }: { value: string | undefined; unit?: boolean }) {
  if (value === undefined) return <>–</>
  const idle = /^-?0\.0*(?=\d)/.exec(value)?.[0] ?? ''
  const [first = '', ...thousands] = idle === '' ? value.split(THOUSANDS) : [value.slice(idle.length)]
  return (
    <span class="amount">
      {idle !== '' && <span class="amount-idle">{idle}</span>}
      {first}
      {thousands.map((digits, at) => (
        <span key={at} class="amount-thousand">
          {digits}
        </span>
      ))}
      {unit && <span class="amount-unit"> credits</span>}
    </span>
  )
}

/** Matches each position of a comma: before the last three, six, … digits of the whole part. */
const THOUSANDS = /(?<=^-?\d+)(?=(?:\d{3})+(?:\.|$))/
