/** The most readable name of a person. */
export const nameOfPerson = ({ subject, name, email }: { readonly [of in "subject" | "name" | "email"]: string }): string => name || email || subject;
