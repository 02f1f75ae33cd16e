/** An image of the repository. It is fetched with the page's secret, so it has no address. */
import { useEffect, useState } from 'preact/hooks'
import type { Image } from '../../contract/values.ts'
import { fetchWith, readSecret } from './secret.ts'

interface BlobImageProps {
  oid: string
  alt: string
  /** Called once the image is drawn, with its width and height in pixels. */
  onSize?: (width: number, height: number) => void
}

export function BlobImage({ oid, alt, onSize }: BlobImageProps) {
  const [address, setAddress] = useState<string | undefined>(undefined)
  const [problem, setProblem] = useState<string | undefined>(undefined)
  useEffect(() => {
    let made: string | undefined
    let isGone = false
    setAddress(undefined)
    setProblem(undefined)
    const show = async () => {
      const response = await fetchWith(readSecret(), `/image/${oid}`)
      if (!response.ok) throw new Error(`The image was answered with ${response.status}.`)
      const blob = await response.blob()
      if (isGone) return
      made = URL.createObjectURL(blob)
      setAddress(made)
    }
    show().catch(() => {
      if (!isGone) setProblem('The desk does not answer with this image: open the file again.')
    })
    return () => {
      isGone = true
      if (made !== undefined) URL.revokeObjectURL(made)
    }
  }, [oid])
  if (problem !== undefined) return <p class="lede">{problem}</p>
  if (address === undefined) return null
  return (
    <img
      src={address}
      alt={alt}
      onError={() => setProblem('The browser can’t draw this image: its content is damaged, or no image.')}
      onLoad={({ currentTarget: { naturalWidth, naturalHeight } }) => onSize?.(naturalWidth, naturalHeight)}
    />
  )
}

interface ImageFigureProps {
  oid: string
  image: Image
  alt: string
  /** `picture`: fills its pane. `thumbnail`: has the same height before and after the image is loaded. */
  look: 'picture' | 'thumbnail'
  /** Begins the caption. */
  title?: string
}

/** An image with its format, its size in bytes and, once it is loaded, in pixels. */
export function ImageFigure({ oid, image, alt, look, title }: ImageFigureProps) {
  const [pixels, setPixels] = useState('')
  useEffect(() => setPixels(''), [oid])
  const facts = [title, image.type, `${image.size.toLocaleString('en')} bytes`, pixels]
  return (
    <figure class={look}>
      <div class="image-box">
        <BlobImage oid={oid} alt={alt} onSize={(width, height) => setPixels(`${width} × ${height}`)} />
      </div>
      <figcaption class="meta">{facts.filter(Boolean).join(', ')}</figcaption>
    </figure>
  )
}
