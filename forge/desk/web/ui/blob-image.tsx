/** An image of the repository. It is fetched with the page's secret, so it has no address. */
import { useEffect, useState } from 'preact/hooks'
import { fetchWith, readSecret } from './secret.ts'

export function BlobImage({ oid, alt }: { oid: string; alt: string }) {
  const [address, setAddress] = useState<string | undefined>(undefined)
  const [isMissing, setMissing] = useState(false)
  useEffect(() => {
    let made: string | undefined
    let isGone = false
    const show = async () => {
      const response = await fetchWith(readSecret(), `/image/${oid}`)
      if (!response.ok) throw new Error(`The image was answered with ${response.status}.`)
      const blob = await response.blob()
      if (isGone) return
      made = URL.createObjectURL(blob)
      setAddress(made)
    }
    show().catch(() => setMissing(!isGone))
    return () => {
      isGone = true
      if (made !== undefined) URL.revokeObjectURL(made)
    }
  }, [oid])
  if (isMissing) return <p class="lede">The desk does not answer with this image: open the file again.</p>
  return address === undefined ? null : <img src={address} alt={alt} />
}
